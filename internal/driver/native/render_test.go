package native

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/predicate"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// decode reads a resource as the client does.
func decode(t *testing.T, r sidecar.Resource) *config.Config {
	t.Helper()
	var value any
	if err := json.Unmarshal(r.Body, &value); err != nil {
		t.Fatal(err)
	}
	c := &config.Config{}
	if err := config.Decode("", value, c); err != nil {
		t.Fatalf("%s: %v\n%s", r.Name, err, r.Body)
	}
	return c
}

func TestRender(t *testing.T) {
	route := func(a model.Action, m model.Match) model.Route {
		return model.Route{Name: "r", Protocol: model.HTTP, Match: m, Action: a}
	}
	to := []model.WeightedDestination{{Destination: "ns/d", Weight: 1}}
	v := &model.View{
		Workload: model.Workload{Role: model.RoleGateway},
		Inbound: []model.Inbound{
			{Listener: model.Listener{Port: 8080, Protocol: model.HTTP, Router: "r"}, Routes: []model.Route{
				route(model.Action{
					Destinations: to, ForwardChain: []string{"ns/c"}, ReverseChain: []string{"ns/e"},
					Retry:    model.Retry{Retries: 2, Conditions: []model.RetryCondition{model.RetryConnectFailure, model.RetryDisconnect}},
					Rewrite:  &model.Rewrite{Headers: []model.Header{{Name: "X-A", Value: "1"}}},
					Timeouts: model.Timeouts{Request: 2e9},
				}, model.Match{Method: "GET", Path: model.StringMatch{Kind: model.Exact, Value: "/a"}}),
				route(model.Action{}, model.Match{}),
				route(model.Action{Destinations: []model.WeightedDestination{
					{Destination: "a", Weight: 4_000_000}, {Destination: "b", Weight: 1_000_000}, {Destination: "c"},
				}}, model.Match{}),
				route(model.Action{Destinations: to}, model.Match{Query: []model.FieldMatch{{Name: "a/", Kind: model.Present}}}),
			}},
			{Listener: model.Listener{
				Port: 9000, Protocol: model.UDP, Router: "u", Peer: netip.MustParseAddrPort("192.0.2.1:4000"),
			}},
			{Listener: model.Listener{Protocol: model.Unix, Socket: "/run/a.sock", Router: "x"}},
			{Listener: model.Listener{
				Port: 9001, Protocol: model.JSONSocket, Transport: model.UDP, Router: "j", TrackSessions: 600e9, EndSessions: true,
			}},
		},
	}
	resources, findings := Driver{}.Render(v)
	if len(findings) != 1 || findings[0].Code != model.CodeNotSupported {
		t.Errorf("got findings %v", findings)
	}
	var names []string
	for _, r := range resources {
		names = append(names, r.Name)
	}
	want := []string{"stats", "listener/http:8080", "listener/udp:9000", "listener/unix:/run/a.sock", "listener/jsonsocket:9001"}
	if !reflect.DeepEqual(names, want) {
		t.Fatalf("got resources %v", names)
	}
	for _, r := range resources {
		decode(t, r)
	}
	rules := decode(t, resources[1]).Listeners[0].Rules.Inline
	if len(rules) != 3 {
		t.Fatalf("got %d rules, want 3", len(rules))
	}
	action := rules[0].Inline.Action
	r := action.Route.Inline
	if r.Destination.Name != "ns/d" || r.Ingress[0].Name != "ns/c" || r.Egress[0].Name != "ns/e" ||
		r.Retry.RetryOn != config.RetryAlways || *r.Retry.NumRetries != 2 || r.Timeouts.Request != 2000 ||
		action.Rewrite[0].Path != "/HTTP/headers/x-a" {
		t.Errorf("got action %s", resources[1].Body)
	}
	if rules[1].Inline.Action.Apply != noRoute {
		t.Error("a route without a destination leads somewhere")
	}
	shares := rules[2].Inline.Action.Route.Inline.Destinations
	if len(shares) != 2 || *shares[0].Weight != 4**shares[1].Weight {
		t.Errorf("got shares %+v", shares)
	}
	if c := decode(t, resources[2]).Listeners[0].Spec.Connect; c.Address != "192.0.2.1" || c.Port != 4000 {
		t.Errorf("got peer %+v", c)
	}
	l := decode(t, resources[4]).Listeners[0]
	if !l.Options.RemoveOrphanSessions || l.Options.Track != 600 || l.Spec.Protocol != config.JSONSocket ||
		l.Spec.Transport.Protocol != config.UDP || l.Spec.Transport.Port != 9001 {
		t.Errorf("got %s", resources[4].Body)
	}
}

// Every match whose features are supported has a predicate that the proxy accepts.
func TestPredicates(t *testing.T) {
	field := func(kind model.MatchKind, invert bool) model.Match {
		return model.Match{Headers: []model.FieldMatch{{Name: "X", Kind: kind, Value: "v", Invert: invert}}}
	}
	supported := Driver{}.Supports()
	matches := map[string]model.Match{
		"": {}, "route.match.method": {Method: "GET"}, "route.match.scheme": {Scheme: "https"},
		"route.match.host": {Hosts: []string{"*.a", "b"}},
		"route.match.predicate": {Predicate: &model.Predicate{Op: "not", Apply: []model.Predicate{
			{Op: "defined", Path: "/a"}, {Op: "test", Path: "/a", Value: 1.0, IgnoreCase: true},
		}}},
	}
	for _, k := range []model.MatchKind{model.Exact, model.Prefix, model.Suffix, model.Regex, model.Range, model.Present} {
		matches["route.match.header."+string(k)] = field(k, k == model.Exact)
		matches["route.match.query."+string(k)] = model.Match{Query: []model.FieldMatch{{Name: "q", Kind: k}}}
	}
	for _, k := range []model.MatchKind{model.Exact, model.Prefix, model.PathPrefix, model.Regex, model.Suffix} {
		matches["route.match.path."+string(k)] = model.Match{Path: model.StringMatch{Kind: k, Value: "/v"}}
	}
	for feature, m := range matches {
		p, ok := predicateOf(m)
		if want := feature == "" || supported[model.Feature(feature)]; ok != want {
			t.Errorf("%s: rendered %v, supported %v", feature, ok, want)
		}
		if _, err := compiled(p); ok && err != nil {
			t.Errorf("%s: %v", feature, err)
		}
	}
}

func compiled(p any) (predicate.Predicate, error) { return predicate.Compile(p) }

func TestRenderDestination(t *testing.T) {
	d := model.Destination{
		Key: model.Key{Mesh: "m", Name: "ns/d"}, Port: 9000, Protocol: model.TCP,
		Discovery: model.Discovery{Kind: model.DiscoverInstances, Group: "g"},
		Balance:   model.Balance{Policy: model.ConsistentHash, HashKey: "/labels/id"},
	}
	resources := Driver{}.RenderDestination(model.ResolvedDestination{Destination: d, Endpoints: []model.Endpoint{
		{Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}},
		{Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.2")}, Port: 9001},
	}})
	c := decode(t, resources[0]).Clusters[0]
	if len(c.Endpoints) != 2 || c.Endpoints[0].Spec.Address != "10.0.0.1" || c.Endpoints[1].Spec.Port != 9001 ||
		c.LoadBalancer.Policy != config.ConsistentHash || c.LoadBalancer.Key != "/labels/id" {
		t.Errorf("got %s", resources[0].Body)
	}
	d.Protocol, d.Port = model.Unix, 0
	d.Discovery = model.Discovery{Kind: model.DiscoverStatic, Addresses: []model.StaticAddress{{Socket: "/run/a.sock", Weight: 2}}}
	c = decode(t, Driver{}.RenderDestination(model.ResolvedDestination{Destination: d})[0]).Clusters[0]
	if c.Endpoints[0].Spec.Address != "/run/a.sock" || c.Endpoints[0].EffectiveWeight() != 2 {
		t.Errorf("got %+v", c)
	}
	if name := clusterName("a b"); strings.Contains(name, " ") {
		t.Errorf("got name %q", name)
	}
}
