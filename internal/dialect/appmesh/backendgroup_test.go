package appmesh

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
)

// A VirtualService that is created in a namespace with a group of all its VirtualServices costs the same number of
// evaluations, whatever the number of VirtualNodes with the group is. It changes no workload.
func TestJoiningGroupEvaluatesNoVirtualNode(t *testing.T) {
	evaluations := func(nodes int) uint64 {
		g := incremental.New()
		objects, out := store.NewObjects(g), store.NewModel(g)
		Dialect{}.Rules(g, objects, out)
		out.Workloads.TrackChanges()
		set := func(all ...client.Object) {
			for _, o := range all {
				objects.Set(o)
			}
			g.Run()
		}
		meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "a"} }
		set(&api.Mesh{
			ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
		})
		for i := range nodes {
			node := &api.VirtualNode{ObjectMeta: meta(fmt.Sprint("node", i))}
			node.Spec.BackendGroups = []api.BackendGroupReference{{Name: "all"}}
			set(node)
		}
		group := &api.BackendGroup{ObjectMeta: meta("all")}
		group.Spec.VirtualServices = []api.VirtualServiceReference{{Name: everyService}}
		set(group, &api.VirtualService{ObjectMeta: meta("one")})
		out.Workloads.TakeChanged()
		start := g.Evaluations()
		set(&api.VirtualService{ObjectMeta: meta("two")})
		if changed := out.Workloads.TakeChanged(); len(changed) > 0 {
			t.Errorf("the workloads %v changed", changed)
		}
		if got := len(out.Snapshot().ServiceGroups[0].Members); got != 2 {
			t.Errorf("got %d members, want 2", got)
		}
		return g.Evaluations() - start
	}
	if few, many := evaluations(1), evaluations(200); few != many || many > 6 {
		t.Errorf("got %d evaluations with 1 VirtualNode, %d with 200; want equal numbers, at most 6", few, many)
	}
}
