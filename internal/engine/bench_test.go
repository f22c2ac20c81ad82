package engine

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "ns"} }

// instance returns a pod of the VirtualNode of an app.
func instance(app string, i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: named(fmt.Sprintf("%s-%d", app, i))}
	p.UID, p.Labels = types.UID(p.Name), map[string]string{"app": app}
	p.Status = corev1.PodStatus{
		PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	return p
}

func pooled(app string) *api.VirtualNode {
	return &api.VirtualNode{ObjectMeta: named(app), Spec: api.VirtualNodeSpec{
		PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		Listeners:   []api.Listener{{PortMapping: api.PortMapping{Port: 8080, Protocol: "http"}}},
		ServiceDiscovery: &api.ServiceDiscovery{
			AWSCloudMap: &api.AWSCloudMapServiceDiscovery{NamespaceName: "pools", ServiceName: app},
		},
	}}
}

func router(name string, prefix string) *api.VirtualRouter {
	return &api.VirtualRouter{ObjectMeta: named(name), Spec: api.VirtualRouterSpec{
		Listeners: []api.VirtualRouterListener{{PortMapping: api.PortMapping{Port: 8080, Protocol: "http"}}},
		Routes: []api.Route{{Name: "r", HTTPRoute: &api.HTTPRoute{
			Match: api.HTTPRouteMatch{Prefix: &prefix},
			Action: api.RouteAction{
				WeightedTargets: []api.WeightedTarget{
					{VirtualNodeRef: &api.VirtualNodeReference{Name: name}, Weight: 1},
				},
			},
		}}},
	}}
}

// largeMesh returns services, each a VirtualService with a router and a VirtualNode with two pods, and clients with
// 20 backends each.
func largeMesh(services, clients int) []client.Object {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}},
		&api.Mesh{
			ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
		},
	}
	for i := range services {
		name := fmt.Sprintf("s%04d", i)
		objects = append(objects, pooled(name), instance(name, 0), instance(name, 1), router(name, "/"),
			&api.VirtualService{ObjectMeta: named(name), Spec: api.VirtualServiceSpec{Provider: &api.VirtualServiceProvider{
				VirtualRouter: &api.VirtualRouterServiceProvider{VirtualRouterRef: &api.VirtualRouterReference{Name: name}}}}})
	}
	for i := range clients {
		n := pooled(fmt.Sprintf("c%04d", i))
		for j := range 20 {
			n.Spec.Backends = append(n.Spec.Backends, api.Backend{VirtualService: api.VirtualServiceBackend{
				VirtualServiceRef: &api.VirtualServiceReference{Name: fmt.Sprintf("s%04d", (i*7+j*31)%services)},
			}})
		}
		objects = append(objects, n)
	}
	return objects
}

func newSyncedEngine(services int) *Engine {
	f := New(discardLog, dialects, Settings{})
	for _, o := range largeMesh(services, 200) {
		f.Set(o)
	}
	f.Sync()
	return f
}

var sizes = []int{100, 1000, 10000}

// BenchmarkStart measures the first sync of a mesh.
func BenchmarkStart(b *testing.B) {
	for _, services := range sizes {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			objects := transformedList(largeMesh(services, 200))
			b.ReportAllocs()
			for b.Loop() {
				f := New(discardLog, dialects, Settings{})
				for _, o := range objects {
					f.Set(o)
				}
				f.Sync()
			}
		})
	}
}

// BenchmarkMemory measures the live heap of a mesh, without the objects.
func BenchmarkMemory(b *testing.B) {
	for _, services := range sizes {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			objects := transformedList(largeMesh(services, 20))
			for b.Loop() {
				before := liveHeap()
				f := New(discardLog, dialects, Settings{})
				for _, o := range objects {
					f.Set(o)
				}
				f.Sync()
				b.ReportMetric(float64(liveHeap()-before)/float64(services), "B/service")
				runtime.KeepAlive(f)
			}
			runtime.KeepAlive(objects)
		})
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkEndpoint measures a new address of a pod.
func BenchmarkEndpoint(b *testing.B) {
	for _, services := range sizes {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			f, i := newSyncedEngine(services), 0
			b.ReportAllocs()
			for b.Loop() {
				p := instance("s0007", 0)
				p.Status.PodIP = fmt.Sprintf("10.1.%d.%d", i/250%250, i%250)
				f.Set(p)
				f.Sync()
				i++
			}
		})
	}
}

// BenchmarkRoute measures the change of a route that a few workloads use.
func BenchmarkRoute(b *testing.B) {
	for _, services := range sizes {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			f, i := newSyncedEngine(services), 0
			b.ReportAllocs()
			for b.Loop() {
				f.Set(router("s0007", fmt.Sprintf("/%d", i)))
				f.Sync()
				i++
			}
		})
	}
}

// shiftMesh returns services with two VirtualNodes each, and clients that have all services as backends.
func shiftMesh(services, clients int) []client.Object {
	objects := largeMesh(services, 0)
	for i := range services {
		objects = append(objects, pooled(fmt.Sprintf("s%04d-b", i)), shifted(i, 1))
	}
	for i := range clients {
		n := pooled(fmt.Sprintf("c%04d", i))
		for j := range services {
			n.Spec.Backends = append(n.Spec.Backends, api.Backend{VirtualService: api.VirtualServiceBackend{
				VirtualServiceRef: &api.VirtualServiceReference{Name: fmt.Sprintf("s%04d", j)},
			}})
		}
		objects = append(objects, n)
	}
	return objects
}

// shifted returns the router of a service of shiftMesh, with a weight for the second VirtualNode.
func shifted(i int, weight int64) *api.VirtualRouter {
	name := fmt.Sprintf("s%04d", i)
	r := router(name, "/")
	action := &r.Spec.Routes[0].HTTPRoute.Action
	action.WeightedTargets = append(action.WeightedTargets, api.WeightedTarget{
		VirtualNodeRef: &api.VirtualNodeReference{Name: name + "-b"}, Weight: weight,
	})
	return r
}

// BenchmarkShift measures the change of a weight in a route that all clients use.
func BenchmarkShift(b *testing.B) {
	for _, clients := range []int{1, 200} {
		b.Run(fmt.Sprintf("services=1000/clients=%d", clients), func(b *testing.B) {
			f, i := New(discardLog, dialects, Settings{}), 0
			for _, o := range shiftMesh(1000, clients) {
				f.Set(o)
			}
			f.Sync()
			b.ReportAllocs()
			for b.Loop() {
				f.Set(shifted(500, int64(2+i%50)))
				f.Sync()
				i++
			}
		})
	}
}

// BenchmarkService measures a service that is deleted, or created again, and that all clients reach.
func BenchmarkService(b *testing.B) {
	f := New(discardLog, dialects, Settings{})
	var service client.Object
	for _, o := range shiftMesh(1000, 200) {
		if _, is := o.(*api.VirtualService); is {
			service = o
		}
		f.Set(o)
	}
	f.Sync()
	there := true
	b.ReportAllocs()
	for b.Loop() {
		if there = !there; there {
			f.Set(service)
		} else {
			f.Delete(service)
		}
		f.Sync()
	}
}
