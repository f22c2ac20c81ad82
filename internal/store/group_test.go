package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"anymesh.dev/anymesh/model"
)

func (f *facts) group(g model.ServiceGroup) {
	f.set("group "+g.Name, func(out *outputs) { out.groups.Emit(g) })
}

func randomGroup(r *rand.Rand, name string) model.ServiceGroup {
	g := model.ServiceGroup{Key: in("m", name), Origin: at("ServiceGroup", name, 0)}
	for i := range 4 {
		if r.IntN(2) == 0 {
			g.Members = append(g.Members, model.Backend{Service: fmt.Sprintf("s%d", i), Path: fmt.Sprintf("spec[%d]", i)})
		}
	}
	return g
}

// A service that joins or leaves a group changes one outbound view, whatever the number of workloads with the group.
func TestMemberEvaluatesNoWorkload(t *testing.T) {
	evaluations := func(workloads int) uint64 {
		f := newFacts()
		f.router(routed("r", "d", 1, model.HTTP))
		f.destination("d")
		f.service(model.Service{Key: in("m", "a"), Router: "r", Origin: at("Service", "a", 0)})
		f.service(model.Service{Key: in("m", "b"), Router: "r", Origin: at("Service", "b", 0)})
		members := func(names ...string) {
			g := model.ServiceGroup{Key: in("m", "g"), Origin: at("ServiceGroup", "g", 0)}
			for _, name := range names {
				g.Members = append(g.Members, model.Backend{Service: name})
			}
			f.group(g)
			f.graph.Run()
		}
		for i := range workloads {
			f.workload(model.Workload{
				Key:           in("m", fmt.Sprintf("w%d", i)),
				ServiceGroups: []model.GroupReference{{Group: "g", Path: fmt.Sprintf("spec[%d]", i)}},
			})
		}
		reached := func() (names []string) {
			view, _ := f.View(in("m", "w0"))
			for _, o := range view.Outbound {
				for _, b := range o.Bindings {
					names = append(names, b.Service)
				}
			}
			return names
		}
		members("a")
		if got := fmt.Sprint(reached()); got != "[a]" {
			t.Errorf("got services %s, want a", got)
		}
		f.Views.TakeChanged()
		f.OutboundViews.TakeChanged()
		start := f.graph.Evaluations()
		members("a", "b")
		if views, outbound := f.Views.TakeChanged(), f.OutboundViews.TakeChanged(); len(views) != 0 || len(outbound) != 1 {
			t.Errorf("%d workloads: got %d changed views and %d changed outbound views, want 0 and 1", workloads, len(views),
				len(outbound))
		}
		if got := fmt.Sprint(reached()); got != "[a b]" {
			t.Errorf("got services %s, want a and b", got)
		}
		cost := f.graph.Evaluations() - start
		f.items.Delete("group g")
		f.graph.Run()
		if got := reached(); len(got) > 0 {
			t.Errorf("without the group: got services %s", got)
		}
		return cost
	}
	if few, many := evaluations(1), evaluations(200); few != many {
		t.Errorf("got %d evaluations with 1 workload, %d with 200", few, many)
	}
}
