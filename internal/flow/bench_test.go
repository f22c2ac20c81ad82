package flow

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// largeMesh has services, each a VirtualService with a router and two VirtualNodes, and clients with 20 backends each.
func largeMesh(services, clients int) []client.Object {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "ns"} }
	http := api.PortMapping{Port: 8080, Protocol: "http"}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}},
		&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}}},
	}
	node := func(name string) *api.VirtualNode {
		return &api.VirtualNode{ObjectMeta: meta(name), Spec: api.VirtualNodeSpec{
			Listeners:        []api.Listener{{PortMapping: http}},
			ServiceDiscovery: &api.ServiceDiscovery{DNS: &api.DNSServiceDiscovery{Hostname: name + ".ns.svc.cluster.local"}},
		}}
	}
	for i := range services {
		name := fmt.Sprintf("s%04d", i)
		objects = append(objects, node(name+"a"), node(name+"b"),
			&api.VirtualService{ObjectMeta: meta(name), Spec: api.VirtualServiceSpec{Provider: &api.VirtualServiceProvider{
				VirtualRouter: &api.VirtualRouterServiceProvider{VirtualRouterRef: &api.VirtualRouterReference{Name: name}}}}},
			&api.VirtualRouter{ObjectMeta: meta(name), Spec: api.VirtualRouterSpec{
				Listeners: []api.VirtualRouterListener{{PortMapping: http}},
				Routes: []api.Route{{Name: "r", HTTPRoute: &api.HTTPRoute{
					Match: api.HTTPRouteMatch{Prefix: new("/")},
					Action: api.RouteAction{WeightedTargets: []api.WeightedTarget{
						{VirtualNodeRef: &api.VirtualNodeReference{Name: name + "a"}, Weight: 1},
						{VirtualNodeRef: &api.VirtualNodeReference{Name: name + "b"}, Weight: 1},
					}},
				}}},
			}})
	}
	for i := range clients {
		n := node(fmt.Sprintf("c%04d", i))
		for j := range 20 {
			n.Spec.Backends = append(n.Spec.Backends, api.Backend{VirtualService: api.VirtualServiceBackend{
				VirtualServiceRef: &api.VirtualServiceReference{Name: fmt.Sprintf("s%04d", (i*7+j*31)%services)},
			}})
		}
		objects = append(objects, n)
	}
	return objects
}

// BenchmarkCompute is a state from all objects, when nothing has changed: the price of an event that changes nothing.
func BenchmarkCompute(b *testing.B) {
	for _, services := range []int{100, 1000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			objects := largeMesh(services, 200)
			dialects := []dialect.Dialect{appmesh.Dialect{}}
			state := Compute(dialects, objects, nil)
			b.ReportAllocs()
			for b.Loop() {
				state = Compute(dialects, objects, state)
			}
		})
	}
}
