package appmesh_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The owner of a mesh is the account of the ARNs of the Mesh and its members. ARNs follow the owner, unless App Mesh
// assigned them.
func TestOwnerIsAccountOfARNs(t *testing.T) {
	mesh := &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	mesh.Spec.NamespaceSelector = &metav1.LabelSelector{}
	node := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Name: "front", Namespace: "a"}}
	router := &api.VirtualRouter{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "a"}}
	router.Spec.Routes = []api.Route{{Name: "one"}}
	old := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "a"}}
	gateway := &api.VirtualGateway{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "a"}}
	gateway.Spec.AWSName, gateway.Spec.NamespaceSelector = new("edge"), &metav1.LabelSelector{}
	route := &api.GatewayRoute{ObjectMeta: metav1.ObjectMeta{Name: "to", Namespace: "a"}}
	const assigned = "arn:aws:appmesh:us-west-2:999999999999:mesh/m/virtualNode/old_a"
	old.Status.VirtualNodeARN = new(assigned)
	for _, c := range []struct{ owner, account string }{
		{"", "000000000000"}, {"123456789012", "123456789012"}, {"210987654321", "210987654321"}, {"", "000000000000"},
	} {
		mesh.Spec.MeshOwner = nil
		if c.owner != "" {
			mesh.Spec.MeshOwner = new(c.owner)
		}
		objects := []client.Object{mesh, node, router, old, gateway, route}
		_, findings := appmesh.Dialect{}.Translate(objects)
		status := appmesh.Dialect{}.Statuses(objects, findings)
		mesh, node = status(mesh, someTime).(*api.Mesh), status(node, someTime).(*api.VirtualNode)
		router, old = status(router, someTime).(*api.VirtualRouter), status(old, someTime).(*api.VirtualNode)
		route = status(route, someTime).(*api.GatewayRoute)
		prefix := "arn:aws:appmesh:anymesh:" + c.account + ":mesh/m"
		for want, got := range map[string]*string{
			prefix: mesh.Status.MeshARN, prefix + "/virtualNode/front_a": node.Status.VirtualNodeARN,
			prefix + "/virtualRouter/r_a":                     router.Status.VirtualRouterARN,
			prefix + "/virtualRouter/r_a/route/one":           new(router.Status.RouteARNs["one"]),
			prefix + "/virtualGateway/edge/gatewayRoute/to_a": route.Status.GatewayRouteARN,
			assigned: old.Status.VirtualNodeARN,
		} {
			if got == nil || *got != want {
				t.Errorf("owner %q: got ARN %v, want %s", c.owner, got, want)
			}
		}
	}
}
