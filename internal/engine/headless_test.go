package engine

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// A pod of a headless Service changes the outbound views with its service, and no others. Readiness changes none.
func TestPodOfHeadlessService(t *testing.T) {
	objects := []client.Object{mesh(), &corev1.Namespace{ObjectMeta: named("ns")}}
	for _, db := range []string{"mysql", "postgres"} {
		tcp := pooled(db)
		tcp.Spec.Listeners[0].PortMapping = api.PortMapping{Port: 3306, Protocol: "tcp"}
		reader := pooled("reader-of-" + db)
		reader.Spec.Backends = []api.Backend{{VirtualService: api.VirtualServiceBackend{
			VirtualServiceRef: &api.VirtualServiceReference{Name: db},
		}}}
		objects = append(objects, tcp, reader, instance(db, 0),
			&corev1.Service{ObjectMeta: named(db), Spec: corev1.ServiceSpec{
				ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": db},
			}},
			&api.VirtualService{ObjectMeta: named(db), Spec: api.VirtualServiceSpec{Provider: &api.VirtualServiceProvider{
				VirtualNode: &api.VirtualNodeServiceProvider{VirtualNodeRef: &api.VirtualNodeReference{Name: db}},
			}}})
	}
	var change Change
	f := New(discardLog, dialects, Settings{}, func(c Change) { change = c })
	for _, o := range objects {
		f.Set(o)
	}
	f.Sync()
	reader := model.Key{Mesh: "m", Name: "reader-of-mysql_ns"}
	outbound, known := f.OutboundKeyOf(reader)
	if !known {
		t.Fatalf("no outbound view of %s", reader)
	}
	for i := range 3 {
		pod := instance("mysql", 0)
		pod.Status.PodIP = fmt.Sprintf("10.1.1.%d", i)
		f.Set(pod)
		f.Sync()
		if !slices.Equal(change.OutboundViews, []model.OutboundKey{outbound}) || len(change.Views) > 0 {
			t.Errorf("got views %v and outbound views %v, want %v", change.Views, change.OutboundViews, outbound)
		}
		view, _ := f.View(reader)
		want := []netip.Addr{netip.MustParseAddr(pod.Status.PodIP)}
		if got := view.Outbound[0].Bindings[0].Pods; !slices.Equal(got, want) {
			t.Errorf("got pods %v, want %v", got, want)
		}
	}
	pod := instance("mysql", 0)
	pod.Status.PodIP, pod.Status.Conditions = "10.1.1.2", nil
	f.Set(pod)
	f.Sync()
	if len(change.OutboundViews)+len(change.Views) > 0 {
		t.Errorf("a pod that is not ready changes views %v and outbound views %v", change.Views, change.OutboundViews)
	}
}
