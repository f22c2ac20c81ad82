package store

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// facts is a mesh whose model is set from outside, item by item.
type facts struct {
	*Mesh
	graph *incremental.Graph
	items *incremental.Relation[string, *item]
}

type item struct{ add func(*outputs) }

// outputs are the items that a rule of the test may emit.
type outputs struct {
	meshes       Output[string, model.Mesh]
	workloads    Output[model.Key, model.Workload]
	services     Output[model.Key, model.Service]
	routers      Output[model.Key, model.Router]
	destinations Output[model.Key, model.Destination]
	groups       Output[model.Key, model.ServiceGroup]
}

func (m *Model) emitsAll(r *incremental.Rule) *outputs {
	return &outputs{
		m.EmitsMeshes(r), m.EmitsWorkloads(r), m.EmitsServices(r), m.EmitsRouters(r), m.EmitsDestinations(r),
		m.EmitsServiceGroups(r),
	}
}

func newFacts() *facts {
	g := incremental.New()
	objects, m := NewObjects(g), NewModel(g)
	f := &facts{graph: g, items: incremental.NewRelation[string](g, "items", func(_, _ *item) int { return 0 },
		func(a, b *item) bool { return a == b })}
	r := incremental.NewRule(g, "items")
	incremental.Each(r, f.items, m.emitsAll(r), func(out *outputs, _ string, all []*item) { all[0].add(out) })
	f.Mesh = NewMesh(g, objects, m, Settings{})
	f.mesh("m", model.EgressDeny)
	return f
}

func (f *facts) set(name string, add func(*outputs)) { f.items.Set(name, &item{add}) }

func (f *facts) mesh(name string, egress model.Egress) {
	f.set("mesh "+name, func(out *outputs) { out.meshes.Emit(model.Mesh{Name: name, Egress: egress}) })
}

func (f *facts) workload(w model.Workload) {
	f.set("workload "+w.Name, func(out *outputs) { out.workloads.Emit(w) })
}

func (f *facts) router(r model.Router) {
	f.set("router "+r.Name, func(out *outputs) { out.routers.Emit(r) })
}

func (f *facts) service(s model.Service) {
	f.set("service "+s.Name, func(out *outputs) { out.services.Emit(s) })
}

func (f *facts) destination(name string) {
	f.set("destination "+name, func(out *outputs) {
		out.destinations.Emit(model.Destination{
			Key: in("m", name), Protocol: model.HTTP, Discovery: model.Discovery{DNSName: name + ".pool"},
		})
	})
}

func in(mesh, name string) model.Key { return model.Key{Mesh: mesh, Name: name} }

func at(kind, name string, i int) model.Origin {
	return model.NewOrigin(model.ObjectRef{Kind: kind, Name: name}).At(fmt.Sprintf("spec[%d]", i))
}

// routed returns a router with one route to a destination, with a weight.
func routed(name, destination string, weight uint32, protocol model.Protocol) model.Router {
	return model.Router{
		Key: in("m", name), Ports: []model.RouterPort{{Port: 80, Protocol: protocol}},
		Routes: []model.Route{{Protocol: protocol, Action: model.Action{
			Destinations: []model.WeightedDestination{{Destination: destination, Weight: weight}},
		}}},
	}
}

// random sets or deletes a random item.
func (f *facts) random(r *rand.Rand) {
	n := r.IntN(4)
	protocol := []model.Protocol{model.HTTP, model.HTTP, model.TCP}[r.IntN(3)]
	kind := []string{"mesh ", "service ", "router ", "destination ", "workload ", "workload ", "group "}[r.IntN(7)]
	name := fmt.Sprintf("%c%d", kind[0], n)
	if r.IntN(5) == 0 && kind != "mesh " {
		f.items.Delete(kind + name)
		return
	}
	switch kind {
	case "mesh ":
		f.mesh("m", []model.Egress{model.EgressAllow, model.EgressDeny}[n%2])
	case "service ":
		s := model.Service{Key: in("m", name), Router: fmt.Sprintf("r%d", r.IntN(4)), Origin: at("Service", name, 0)}
		if r.IntN(2) == 0 {
			s.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(2))})}
		}
		if r.IntN(3) == 0 {
			s.Aliases = []string{fmt.Sprintf("alias%d", r.IntN(2))}
		}
		f.service(s)
	case "router ":
		f.router(routed(name, fmt.Sprintf("d%d", r.IntN(4)), uint32(r.IntN(3)), protocol))
	case "destination ":
		f.destination(name)
	case "group ":
		f.group(randomGroup(r, name))
	default:
		f.workload(randomWorkload(r, name))
		router := model.Router{Key: in("m", "in-"+name)}
		for i := range r.IntN(4) {
			route := model.Route{Name: fmt.Sprint(i), Protocol: model.HTTP, Origin: at("GatewayRoute", name, i)}
			if r.IntN(2) == 0 {
				route.Action.Service = &model.ServiceTarget{Service: fmt.Sprintf("s%d", r.IntN(4))}
			} else {
				route.Action.Destinations = []model.WeightedDestination{{Destination: fmt.Sprintf("d%d", r.IntN(4)), Weight: 1}}
			}
			router.Routes = append(router.Routes, route)
		}
		f.router(router)
	}
}

func randomWorkload(r *rand.Rand, name string) model.Workload {
	w := model.Workload{Key: in("m", name), Origin: at("Workload", name, 0), BackendsAll: r.IntN(4) == 0}
	w.Listeners = []model.Listener{{Port: 8080, Protocol: model.HTTP}}
	if r.IntN(2) == 0 {
		w.Listeners[0].Router = "in-" + name
	}
	for i := range r.IntN(4) {
		w.Backends = append(w.Backends, model.Backend{
			Service: fmt.Sprintf("s%d", r.IntN(4)), Path: fmt.Sprintf("spec[%d]", i),
		})
	}
	for i := range r.IntN(3) {
		w.ServiceGroups = append(w.ServiceGroups, model.GroupReference{
			Group: fmt.Sprintf("g%d", r.IntN(3)), Path: fmt.Sprintf("groups[%d]", i),
		})
	}
	return w
}

// After any changes, the views and the findings about conflicts are those of model.NewView, also of gateways and of
// workloads that reach all services.
func TestViewsEqualNewView(t *testing.T) {
	conflicts, shared := 0, 0
	for seed := range uint64(150) {
		f, r := newFacts(), rand.New(rand.NewPCG(seed, 2))
		for step := range 40 {
			for range 1 + r.IntN(3) {
				f.random(r)
			}
			f.graph.Run()
			index, outbound := model.NewIndex(f.Snapshot()), map[model.OutboundKey]bool{}
			var want, got []model.Finding
			for _, w := range index.Model.Workloads {
				whole, findings, _ := model.NewView(index, w.Key)
				view, ok := f.View(w.Key)
				if !ok || !reflect.DeepEqual(*view, whole) {
					t.Fatalf("seed %d, step %d: view of %s:\n%+v\nNewView:\n%+v", seed, step, w.Key, *view, whole)
				}
				own, _ := f.Views.GetFirst(w.Key)
				if outbound[own.OutboundKey] {
					shared++
				}
				outbound[own.OutboundKey] = true
				want = append(want, findings...)
			}
			for _, finding := range f.AllFindings() {
				if finding.Code != model.CodeNoAddress {
					got = append(got, finding)
				}
			}
			if want = model.SortFindings(want); !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d: got findings\n%v\nwant\n%v", seed, step, got, want)
			}
			conflicts += len(want)
			if n := countKeys(f); n != len(outbound) {
				t.Fatalf("seed %d, step %d: got %d outbound views, want %d", seed, step, n, len(outbound))
			}
		}
	}
	if conflicts < 100 || shared < 100 {
		t.Errorf("got %d conflicts and %d shared outbound views, want more", conflicts, shared)
	}
}

func countKeys(f *facts) (n int) {
	f.OutboundViews.ForEach(func(model.OutboundKey, []*OutboundView) { n++ })
	return n
}

// A change of a weight evaluates no workload, whether it reaches the service by a backend, by BackendsAll, or by routes
// of a gateway.
func TestShiftEvaluatesNoWorkload(t *testing.T) {
	evaluations := func(workloads int) uint64 {
		f := newFacts()
		for _, name := range []string{"a", "b"} {
			f.service(model.Service{Key: in("m", "s-"+name), Router: "r-" + name, Origin: at("Service", name, 0)})
			f.router(routed("r-"+name, "d-"+name, 1, model.HTTP))
			f.destination("d-" + name)
			f.service(model.Service{Key: in("m", "same-"+name), Router: "r-" + name, Aliases: []string{"x"}})
		}
		f.router(model.Router{Key: in("m", "door"), Routes: []model.Route{{
			Protocol: model.HTTP, Action: model.Action{Service: &model.ServiceTarget{Service: "s-a"}},
		}}})
		for i := range workloads {
			f.workload(model.Workload{
				Key:      in("m", fmt.Sprintf("w%d", i)),
				Backends: []model.Backend{{Service: "s-a"}, {Service: "s-b", Path: fmt.Sprintf("spec[%d]", i)}},
			})
			f.workload(model.Workload{Key: in("m", fmt.Sprintf("all%d", i)), BackendsAll: true})
			f.workload(model.Workload{
				Key: in("m", fmt.Sprintf("door%d", i)), Role: model.RoleGateway,
				Listeners: []model.Listener{{Port: 80, Protocol: model.HTTP, Router: "door"}},
			})
		}
		f.graph.Run()
		f.Views.TakeChanged()
		f.OutboundViews.TakeChanged()
		start := f.graph.Evaluations()
		f.router(routed("r-a", "d-a", 2, model.HTTP))
		f.graph.Run()
		if views, outbound := f.Views.TakeChanged(), f.OutboundViews.TakeChanged(); len(views) != 0 || len(outbound) != 3 {
			t.Errorf("%d workloads of each kind: got %d changed views and %d changed outbound views, want 0 and 3", workloads,
				len(views), len(outbound))
		}
		return f.graph.Evaluations() - start
	}
	if few, many := evaluations(1), evaluations(200); few != many {
		t.Errorf("got %d evaluations with 1 workload of each kind, %d with 200", few, many)
	}
}
