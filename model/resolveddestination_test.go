package model_test

import (
	"fmt"
	"testing"

	"anymesh.dev/anymesh/model"
)

// A resolved destination has the ready endpoints of its group or, without group, of its workload. It has none if the
// sidecar resolves a DNS name.
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
		{model.Discovery{Kind: model.DiscoverInstances, Group: "unknown"}, ""},
		{model.Discovery{Kind: model.DiscoverInstances}, "1"},
		{model.Discovery{Kind: model.DiscoverDNS, Hostname: "cart.example"}, ""},
	} {
		t.Run(fmt.Sprintf("%+v", c.discovery), func(t *testing.T) {
			m.Destinations[0].Discovery = c.discovery
			r, ok := model.NewIndex(model.Merge(m)).ResolvedDestination(m.Destinations[0].Key)
			got := ""
			for _, e := range r.Endpoints {
				got += e.Instance.Name
			}
			if !ok || got != c.want || r.Mesh.Name != "m" || r.Destination.Key != m.Destinations[0].Key {
				t.Errorf("got %q (%v), want %q", got, ok, c.want)
			}
		})
	}
	if _, ok := model.NewIndex(model.Merge(m)).ResolvedDestination(model.Key{Mesh: "m", Name: "missing"}); ok {
		t.Error("got a destination that does not exist")
	}
}
