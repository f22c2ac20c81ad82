package store

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// The mode of a workload is that of its pods. In a rollout, it is the mode that answers the most names.
func TestDNSModeOfWorkload(t *testing.T) {
	const notInjected, older = "not injected", "older"
	for _, c := range []struct {
		mesh model.DNSMode
		pods []string
		want model.DNSMode
	}{
		{"", nil, model.DNSUnresolved},
		{model.DNSAll, nil, model.DNSAll},
		{model.DNSAll, []string{notInjected}, model.DNSAll},
		{model.DNSAll, []string{older}, model.DNSOff},
		{model.DNSAll, []string{"Off", "Off"}, model.DNSOff},
		{"", []string{older, "Unresolved"}, model.DNSUnresolved},
		{"", []string{"All", "Off", "Unresolved"}, model.DNSAll},
		{model.DNSOff, []string{"Unresolved"}, model.DNSUnresolved},
	} {
		t.Run(fmt.Sprintf("mesh %q, pods %q", c.mesh, c.pods), func(t *testing.T) {
			g := incremental.New()
			objects, m := NewObjects(g), NewModel(g)
			key := model.Key{Mesh: "m", Name: "w"}
			r := incremental.NewRule(g, "pods")
			incremental.Each(r, Of[*Pod](objects), m.EmitsEndpoints(r),
				func(out Output[model.Instance, model.Endpoint], _ types.NamespacedName, all []*Pod) {
					out.Emit(EndpointOf(all[0], key, ""))
				})
			r = incremental.NewRule(g, "namespaces")
			incremental.Each(r, Of[*corev1.Namespace](objects), m.emitsAll(r),
				func(out *outputs, _ types.NamespacedName, _ []*corev1.Namespace) {
					out.meshes.Emit(model.Mesh{Name: "m"})
					out.workloads.Emit(model.Workload{Key: key})
				})
			mesh := NewMesh(g, objects, m, Settings{DNS: c.mesh})
			objects.Set(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
			for i, mode := range c.pods {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}}
				if mode != notInjected {
					pod.Labels = map[string]string{sidecar.UUIDLabel: "x"}
				}
				if mode != notInjected && mode != older {
					pod.Annotations = map[string]string{sidecar.DNSAnnotation: mode}
				}
				objects.Set(pod)
			}
			g.Run()
			view, _ := mesh.View(key)
			if got := mesh.Snapshot().Workloads[0].DNS; got != c.want || view.Workload.DNS != c.want {
				t.Errorf("got %s, view has %s, want %s", got, view.Workload.DNS, c.want)
			}
		})
	}
}
