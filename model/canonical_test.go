package model_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
)

// Fragments in random order, with lists in random order where it has no meaning, merge to the same model.
func TestMergeDoesNotDependOnOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	want := model.Merge(large())
	for range 100 {
		fragments := make([]model.Model, 1+random.IntN(4))
		for _, kind := range lists(new(large())) {
			for i := range kind.Len() {
				into := lists(&fragments[random.IntN(len(fragments))])
				at := slices.IndexFunc(into, func(v reflect.Value) bool { return v.Type() == kind.Type() })
				into[at].Set(reflect.Append(into[at], kind.Index(i)))
			}
		}
		for i := range fragments {
			scramble(random, &fragments[i])
		}
		if got := model.Merge(fragments...); !reflect.DeepEqual(got, want) {
			t.Fatalf("the result depends on the order:\ngot  %+v\nwant %+v", got, want)
		}
	}
}

func TestCanonicalIsIdempotent(t *testing.T) {
	once := model.Merge(large())
	hash := model.Hash(once)
	if model.Hash(once.Canonical()) != hash {
		t.Error("Canonical changed a canonical model")
	}
}

// The order of routes and of the chains of an action affects traffic.
func TestCanonicalKeepsSignificantOrder(t *testing.T) {
	routes := []model.Route{
		{Name: "z", Action: model.Action{ForwardChain: []string{"second", "first"}, ReverseChain: []string{"b", "a"},
			Destinations: []model.WeightedDestination{{Destination: "z"}, {Destination: "a"}}}},
		{Name: "a"},
	}
	m := model.Model{Routers: []model.Router{{Routes: slices.Clone(routes)}}}
	if got := m.Canonical().Routers[0].Routes; !reflect.DeepEqual(got, routes) {
		t.Errorf("the routes have another order: %+v", got)
	}
}

func TestMergeOfNothing(t *testing.T) {
	if got := model.Merge(); !reflect.DeepEqual(got, &model.Model{}) {
		t.Errorf("got %+v, want an empty model", got)
	}
}

// large has several items of each kind, with names that differ in one part only.
func large() model.Model {
	var m model.Model
	for _, mesh := range []string{"m", "n"} {
		m.Meshes = append(m.Meshes, model.Mesh{Name: mesh, EgressNames: []string{"a", "b", "c"}})
		for i := range 4 {
			key := model.Key{Mesh: mesh, Name: fmt.Sprintf("x%d", i)}
			m.Workloads = append(m.Workloads, model.Workload{
				Key: key,
				Listeners: []model.Listener{
					{Port: 80, Protocol: model.HTTP}, {Port: 80, Protocol: model.TCP}, {Port: 81, Protocol: model.HTTP},
					{Socket: "/b"}, {Socket: "/a"},
				},
				Backends: []model.Backend{{Service: "a"}, {Service: "b"}, {Service: "c"}},
			})
			m.ServiceGroups = append(m.ServiceGroups, model.ServiceGroup{
				Key: key, Members: []model.Backend{{Service: "a"}, {Service: "b"}, {Service: "c"}},
			})
			m.Services = append(m.Services, model.Service{Key: key, Aliases: []string{"a", "b", "c"},
				Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}})
			m.Routers = append(m.Routers, model.Router{
				Key:   key,
				Ports: []model.RouterPort{{Port: 1}, {Port: 2, Protocol: model.TCP}, {Port: 2, Protocol: model.UDP}},
			})
			m.Destinations = append(m.Destinations, model.Destination{Key: key})
			m.AuthorizationPolicies = append(m.AuthorizationPolicies,
				model.AuthorizationPolicy{Key: key, Sources: []model.Identity{{Account: "a"}, {Account: "b"}}})
			for _, uid := range []string{"1", "2"} {
				m.Endpoints = append(m.Endpoints, model.Endpoint{
					Workload: key, Instance: model.Instance{Namespace: "ns", Name: "pod", UID: uid},
					Addresses: []netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("10.0.0.1")},
				})
			}
		}
	}
	return m
}

// lists returns the lists of a model.
func lists(m *model.Model) []reflect.Value {
	v := reflect.ValueOf(m).Elem()
	var out []reflect.Value
	for i := range v.NumField() {
		out = append(out, v.Field(i))
	}
	return out
}

func scramble(random *rand.Rand, m *model.Model) {
	shuffle := func(v reflect.Value) { random.Shuffle(v.Len(), reflect.Swapper(v.Interface())) }
	for _, list := range lists(m) {
		shuffle(list)
	}
	for i := range m.Meshes {
		shuffle(reflect.ValueOf(m.Meshes[i].EgressNames))
	}
	for i := range m.Services {
		shuffle(reflect.ValueOf(m.Services[i].Aliases))
		shuffle(reflect.ValueOf(m.Services[i].Addresses))
	}
	for i := range m.AuthorizationPolicies {
		shuffle(reflect.ValueOf(m.AuthorizationPolicies[i].Sources))
	}
	for i := range m.Workloads {
		shuffle(reflect.ValueOf(m.Workloads[i].Listeners))
		shuffle(reflect.ValueOf(m.Workloads[i].Backends))
	}
	for i := range m.ServiceGroups {
		shuffle(reflect.ValueOf(m.ServiceGroups[i].Members))
	}
	for i := range m.Routers {
		shuffle(reflect.ValueOf(m.Routers[i].Ports))
	}
}
