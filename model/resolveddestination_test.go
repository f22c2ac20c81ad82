package model_test

import (
	"testing"

	"anymesh.dev/anymesh/model"
)

// What a destination leads to are the ready endpoints of its group or, without one, of its workload; a name is for
// others to resolve.
func TestResolvedDestinationHasReadyEndpoints(t *testing.T) {
	m := shop()
	pod := func(name, workload string, ready bool, groups ...string) model.Endpoint {
		return model.Endpoint{
			Workload: model.Key{Mesh: "m", Name: workload}, Instance: model.Instance{Name: name}, Ready: ready,
			Groups: groups,
		}
	}
	m.Endpoints = []model.Endpoint{
		pod("1", "cart-v1", true, "all", "old"), pod("2", "cart-v2", true, "all"), pod("3", "cart-v2", false, "all"),
		pod("4", "cart-v2", true, "others"),
	}
	for _, c := range []struct {
		discovery model.Discovery
		want      string
	}{
		{model.Discovery{Kind: model.DiscoverInstances, Group: "all"}, "12"},
		{model.Discovery{Kind: model.DiscoverInstances, Group: "old"}, "1"},
		{model.Discovery{Kind: model.DiscoverInstances, Group: "nobody's"}, ""},
		{model.Discovery{Kind: model.DiscoverInstances}, "1"},
		{model.Discovery{Kind: model.DiscoverDNS, Hostname: "cart.example"}, ""},
	} {
		m.Destinations[0].Discovery = c.discovery
		r, ok := model.NewIndex(model.Merge(m)).ResolvedDestination(m.Destinations[0].Key)
		got := ""
		for _, e := range r.Endpoints {
			got += e.Instance.Name
		}
		if !ok || got != c.want || r.Mesh.Name != "m" || r.Destination.Key != m.Destinations[0].Key {
			t.Errorf("%+v leads to %q (%v), not to %q", c.discovery, got, ok, c.want)
		}
	}
	if _, ok := model.NewIndex(model.Merge(m)).ResolvedDestination(model.Key{Mesh: "m", Name: "nobody"}); ok {
		t.Error("a destination that is not there leads somewhere")
	}
}
