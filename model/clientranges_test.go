package model_test

import (
	"net/netip"
	"testing"

	"anymesh.dev/anymesh/model"
)

func TestClientRanges(t *testing.T) {
	ranges := func(all ...string) (out []netip.Prefix) {
		for _, p := range all {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	for _, c := range []struct {
		name    string
		ranges  *model.ClientRanges
		address string
		want    bool
	}{
		{"no ranges", nil, "192.0.2.1", true},
		{"allowed", &model.ClientRanges{Allowed: ranges("10.0.0.0/8", "192.0.2.0/24")}, "192.0.2.1", true},
		{"not allowed", &model.ClientRanges{Allowed: ranges("10.0.0.0/8")}, "192.0.2.1", false},
		{"another family", &model.ClientRanges{Allowed: ranges("0.0.0.0/0")}, "2001:db8::1", false},
		{"denied", &model.ClientRanges{Denied: ranges("192.0.2.0/24")}, "192.0.2.1", false},
		{"not denied", &model.ClientRanges{Denied: ranges("192.0.2.0/24")}, "192.0.3.1", true},
		{"denied and allowed", &model.ClientRanges{Allowed: ranges("192.0.2.0/24"), Denied: ranges("192.0.2.1/32")}, "192.0.2.1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.ranges.Include(netip.MustParseAddr(c.address)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// A driver that cannot restrict clients gets no destination for a route that does, and the route of the model is kept.
func TestProtectClients(t *testing.T) {
	restricted := model.Route{
		Name: "r", Clients: &model.ClientRanges{}, Origin: model.NewOrigin(model.ObjectRef{Kind: "K", Name: "o"}),
		Action: model.Action{Destinations: []model.WeightedDestination{{Destination: "d", Weight: 1}}},
	}
	open := restricted
	open.Clients = nil
	binding := model.Binding{Service: "s", Routes: []model.Route{restricted, open}}
	view := model.View{OutboundView: model.OutboundView{Outbound: []model.Outbound{{Bindings: []model.Binding{binding}}}}}
	out, findings := view.Protect("tiny", nil)
	routes := out.Outbound[0].Bindings[0].Routes
	if len(routes[0].Action.Destinations) != 0 || len(routes[1].Action.Destinations) != 1 {
		t.Errorf("got routes %+v", routes)
	}
	routes = binding.ProtectRoutes(nil).Routes
	if len(routes[0].Action.Destinations) != 0 || len(routes[1].Action.Destinations) != 1 {
		t.Errorf("got routes of the binding %+v", routes)
	}
	const want = "Error NotSupportedByDriver K o: driver tiny does not support route.clients: " +
		"the route serves clients with some addresses only, and requests get status 404"
	if len(findings) != 1 || findings[0].String() != want {
		t.Errorf("got %v, want %s", findings, want)
	}
	if len(binding.Routes[0].Action.Destinations) != 1 {
		t.Error("the model was changed")
	}
	supports := map[model.Feature]bool{"route.clients": true}
	out, findings = view.Protect("envoy", supports)
	if len(findings) > 0 || len(out.Outbound[0].Bindings[0].Routes[0].Action.Destinations) != 1 {
		t.Errorf("got %+v, %v for a driver with the feature", out.Outbound, findings)
	}
}
