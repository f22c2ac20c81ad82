package appmesh_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// BenchmarkTranslate translates a mesh of services, each with a router, two VirtualNodes and ten pods per
// VirtualNode.
func BenchmarkTranslate(b *testing.B) {
	for _, services := range []int{100, 1000} {
		objects := largeMesh(services)
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, findings := (appmesh.Dialect{}).Translate(objects); len(findings) > 0 {
					b.Fatal(findings[0])
				}
			}
		})
	}
}

func largeMesh(services int) []client.Object {
	objects := []client.Object{
		&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: labeled()}},
	}
	for i := range services {
		ns := fmt.Sprintf("ns-%d", i%20)
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		meta := metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("s-%d", i)}
		router := &api.VirtualRouter{ObjectMeta: meta}
		router.Spec.Listeners = []api.VirtualRouterListener{
			{PortMapping: api.PortMapping{Port: 80, Protocol: api.ProtocolHTTP}},
		}
		route := api.Route{Name: "all", HTTPRoute: &api.HTTPRoute{Match: api.HTTPRouteMatch{Prefix: new("/")}}}
		for v := range 2 {
			name := fmt.Sprintf("%s-v%d", meta.Name, v)
			n := node(ns, name, labeled("app="+name))
			n.Spec.Listeners = []api.Listener{{PortMapping: api.PortMapping{Port: 8080, Protocol: api.ProtocolHTTP}}}
			n.Spec.ServiceDiscovery = &api.ServiceDiscovery{
				DNS: &api.DNSServiceDiscovery{Hostname: name + "." + ns + ".svc.cluster.local"},
			}
			route.HTTPRoute.Action.WeightedTargets = append(route.HTTPRoute.Action.WeightedTargets,
				api.WeightedTarget{VirtualNodeRef: &api.VirtualNodeReference{Name: name}, Weight: 1})
			objects = append(objects, n)
			for p := range 5 {
				objects = append(objects, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Namespace: ns, Name: fmt.Sprintf("%s-%d", name, p), Labels: map[string]string{"app": name},
				}})
			}
		}
		router.Spec.Routes = []api.Route{route}
		service := &api.VirtualService{ObjectMeta: meta}
		service.Spec.Provider = &api.VirtualServiceProvider{
			VirtualRouter: &api.VirtualRouterServiceProvider{
				VirtualRouterRef: &api.VirtualRouterReference{Name: meta.Name},
			},
		}
		objects = append(objects, router, service)
	}
	return objects
}
