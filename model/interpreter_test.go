package model_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// shop is a mesh with the workload front, which has two web services and a database as backends.
func shop() model.Model {
	key := func(name string) model.Key { return model.Key{Mesh: "m", Name: name} }
	to := func(name string, weight uint32) model.WeightedDestination {
		return model.WeightedDestination{Destination: name, Weight: weight}
	}
	destination := func(name string, p model.Protocol) model.Destination {
		return model.Destination{
			Key: key(name), Workload: name, Port: 80, Protocol: p,
			Discovery: model.Discovery{Kind: model.DiscoverDNS, Hostname: name + ".example"},
		}
	}
	return model.Model{
		Meshes: []model.Mesh{{Name: "m", Egress: model.EgressDeny, EgressNames: []string{"*.amazonaws.com"}}},
		Workloads: []model.Workload{
			{Key: key("front"), Role: model.RoleSidecar, Listeners: []model.Listener{{Port: 8080, Protocol: model.HTTP, Timeouts: model.Timeouts{Idle: 1}}},
				Backends: []model.Backend{{Service: "cart.example"}, {Service: "items.example"}, {Service: "db.example"}, {Service: "cache.example"}}},
			{Key: key("cart"), Role: model.RoleSidecar},
		},
		Services: []model.Service{
			{Key: key("cart.example"), Aliases: []string{"Cart"}, Router: "cart"},
			{Key: key("items.example"), Router: "items"},
			{Key: key("db.example"), Router: "db", Addresses: []netip.Addr{netip.MustParseAddr("10.9.0.1")}},
			{Key: key("cache.example"), Router: "cache", Addresses: []netip.Addr{netip.MustParseAddr("10.9.0.3")}},
		},
		Routers: []model.Router{
			{Key: key("cart"), Ports: []model.RouterPort{{Port: 80, Protocol: model.HTTP}}, Routes: []model.Route{
				{Name: "secret", Protocol: model.HTTP, Match: model.Match{Path: model.StringMatch{Kind: model.Prefix, Value: "/secret"}}, Action: model.Action{Destinations: []model.WeightedDestination{to("gone", 1)}}},
				{Name: "old", Protocol: model.HTTP, Match: model.Match{Path: model.StringMatch{Kind: model.Prefix, Value: "/old/"}}, Action: model.Action{
					Destinations: []model.WeightedDestination{to("cart-v1", 1)}, Rewrite: &model.Rewrite{Host: "v1.example", PathPrefix: new("/")}}},
				{Name: "fixed", Protocol: model.HTTP, Match: model.Match{Path: model.StringMatch{Kind: model.Exact, Value: "/here"}}, Action: model.Action{
					Destinations: []model.WeightedDestination{to("cart-v1", 1)}, Rewrite: &model.Rewrite{Path: "/there"}}},
				{Name: "all", Protocol: model.HTTP, Action: model.Action{
					Destinations: []model.WeightedDestination{to("cart-v1", 90), to("cart-v2", 10), to("idle", 0)},
					Retry:        model.Retry{Retries: 2}, Timeouts: model.Timeouts{Request: 5}}},
			}},
			{Key: key("items"), Ports: []model.RouterPort{{Port: 80, Protocol: model.HTTP}, {Port: 90, Protocol: model.GRPC}}, Routes: []model.Route{
				{Name: "web", Protocol: model.HTTP, Port: 80, Match: model.Match{Method: "GET"}, Action: model.Action{Destinations: []model.WeightedDestination{to("items-web", 1)}}},
				{Name: "calls", Protocol: model.GRPC, Action: model.Action{Destinations: []model.WeightedDestination{to("items-calls", 1)}}},
			}},
			{Key: key("db"), Ports: []model.RouterPort{{Port: 5432, Protocol: model.TCP}}, Routes: []model.Route{
				{Name: "rows", Protocol: model.TCP, Action: model.Action{
					Destinations: []model.WeightedDestination{to("db", 1)}, ForwardChain: []string{"audit", "encrypt"}, ReverseChain: []string{"decrypt"}}},
			}},
			{Key: key("cache"), Ports: []model.RouterPort{{Port: 5432, Protocol: model.TCP}}},
		},
		Destinations: []model.Destination{
			destination("cart-v1", model.HTTP), destination("cart-v2", model.HTTP), destination("idle", model.HTTP),
			destination("items-web", model.HTTP),
			destination("items-calls", model.GRPC), destination("db", model.TCP), destination("audit", model.TCP),
			destination("encrypt", model.TCP), destination("decrypt", model.TCP),
		},
	}
}

func viewOf(t *testing.T, m model.Model, workload string) model.View {
	t.Helper()
	v, _, ok := model.NewView(model.NewIndex(model.Merge(m)), model.Key{Mesh: "m", Name: workload})
	if !ok {
		t.Fatalf("no view of %s", workload)
	}
	return v
}

func targets(d model.Decision) string {
	var out []string
	for _, t := range d.Targets {
		out = append(out, t.Destination)
	}
	return strings.Join(out, " ")
}

func TestDecide(t *testing.T) {
	front := viewOf(t, shop(), "front")
	for _, c := range []struct {
		name    string
		request model.Request
		outcome model.Outcome
		route   string
		targets string
	}{
		{"host name", model.Request{Port: 80, Host: "items.example", Method: "GET", Path: "/"}, model.Forwarded, "web", "items-web"},
		{"host name with port", model.Request{Port: 80, Host: "items.example:80", Method: "GET", Path: "/"}, model.Forwarded, "web", "items-web"},
		{"host name with another port", model.Request{Port: 80, Host: "items.example:81", Method: "GET", Path: "/"}, model.NotFound, "", ""},
		{"host name in other case", model.Request{Port: 80, Host: "ITEMS.example", Method: "GET", Path: "/"}, model.Forwarded, "web", "items-web"},
		{"alias", model.Request{Port: 80, Host: "cart", Path: "/"}, model.Forwarded, "all", "cart-v1 cart-v2"},
		{"no target with weight 0", model.Request{Port: 80, Host: "cart.example", Path: "/x"}, model.Forwarded, "all", "cart-v1 cart-v2"},
		{"first matching route", model.Request{Port: 80, Host: "cart.example", Path: "/old/x"}, model.Forwarded, "old", "cart-v1"},
		{"route without destination", model.Request{Port: 80, Host: "cart.example", Path: "/secret"}, model.NotFound, "secret", ""},
		{"no matching route", model.Request{Port: 80, Host: "items.example", Method: "PUT", Path: "/"}, model.NotFound, "", ""},
		{"unknown host", model.Request{Port: 80, Host: "other.example", Path: "/"}, model.NotFound, "", ""},
		{"unknown port", model.Request{Port: 81, Host: "cart.example", Path: "/"}, model.Refused, "", ""},
		{"second port of a service", model.Request{Port: 90, Protocol: model.GRPC, Host: "items.example", Method: "POST", Path: "/pkg.Svc/M"}, model.Forwarded, "calls", "items-calls"},
		{"stream to a service address", model.Request{Port: 5432, Protocol: model.TCP, Address: netip.MustParseAddr("10.9.0.1")}, model.Forwarded, "rows", "db"},
		{"stream to another address", model.Request{Port: 5432, Protocol: model.TCP, Address: netip.MustParseAddr("10.9.0.2")}, model.Refused, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.request.Protocol == "" {
				c.request.Protocol = model.HTTP
			}
			d := front.Decide(c.request)
			if d.Outcome != c.outcome || d.Route != c.route || targets(d) != c.targets {
				t.Errorf("got %s by route %q to %q, want %s by %q to %q\n%+v", d.Outcome, d.Route, targets(d),
					c.outcome, c.route, c.targets, d.Steps)
			}
			if len(d.Steps) == 0 {
				t.Error("the decision has no steps")
			}
		})
	}
}

func TestUndeclaredTraffic(t *testing.T) {
	allow := shop()
	allow.Meshes[0].Egress = model.EgressAllow
	for _, c := range []struct {
		name        string
		request     model.Request
		deny, allow model.Outcome
	}{
		{"undeclared port", model.Request{Port: 9, Protocol: model.TCP}, model.Refused, model.PassedThrough},
		{"undeclared host", model.Request{Port: 80, Protocol: model.HTTP, Host: "x", Path: "/"}, model.NotFound, model.PassedThrough},
		{"undeclared address", model.Request{Port: 5432, Protocol: model.TCP}, model.Refused, model.PassedThrough},
		{"declared host without matching route", model.Request{Port: 80, Protocol: model.HTTP, Host: "items.example", Method: "PUT", Path: "/"}, model.NotFound, model.NotFound},
		{"egress name", model.Request{Port: 443, Protocol: model.TCP, ServerName: "s3.amazonaws.com"}, model.Resolved, model.PassedThrough},
		{"egress name in upper case", model.Request{Port: 443, Protocol: model.TCP, ServerName: "S3.AMAZONAWS.COM"}, model.Resolved, model.PassedThrough},
		{"egress name on another port", model.Request{Port: 444, Protocol: model.TCP, ServerName: "s3.amazonaws.com"}, model.Refused, model.PassedThrough},
		{"TLS on a port of HTTP services", model.Request{Port: 80, Protocol: model.TCP, ServerName: "items.example"}, model.NotHTTP, model.NotHTTP},
		{"egress name without the dot", model.Request{Port: 443, Protocol: model.TCP, ServerName: "notamazonaws.com"}, model.Refused, model.PassedThrough},
	} {
		t.Run(c.name, func(t *testing.T) {
			for egress, want := range map[*model.Model]model.Outcome{new(shop()): c.deny, &allow: c.allow} {
				front := viewOf(t, *egress, "front")
				if d := front.Decide(c.request); d.Outcome != want {
					t.Errorf("egress %s: got %s, want %s", egress.Meshes[0].Egress, d.Outcome, want)
				}
			}
		})
	}
}

// TestEgressNamesNeedAnUndeclaredPort checks that a stream on port 443 has precedence over the egress names.
func TestEgressNamesNeedAnUndeclaredPort(t *testing.T) {
	m := shop()
	db := &m.Routers[2]
	db.Ports[0].Port = model.EgressNamesPort
	m.Routers[3].Ports[0].Port = model.EgressNamesPort
	front := viewOf(t, m, "front")
	r := model.Request{
		Port: model.EgressNamesPort, Protocol: model.TCP, ServerName: "s3.amazonaws.com", Address: netip.MustParseAddr("10.9.0.9"),
	}
	if d := front.Decide(r); d.Outcome != model.Refused {
		t.Errorf("got %s, steps %v", d.Outcome, d.Steps)
	}
}

// TestEmptyDestinations checks requests to destinations without endpoints: only if all targets are empty, none is
// served.
func TestEmptyDestinations(t *testing.T) {
	front := viewOf(t, shop(), "front")
	r := model.Request{Port: 80, Protocol: model.HTTP, Host: "cart.example", Path: "/"}
	for _, c := range []struct {
		empty []string
		want  model.Outcome
	}{
		{[]string{"cart-v1"}, model.Forwarded}, {[]string{"cart-v1", "cart-v2"}, model.Unavailable},
		{[]string{"items-web"}, model.Forwarded},
	} {
		r.State.Empty = c.empty
		if d := front.Decide(r); d.Outcome != c.want {
			t.Errorf("%v: got %s, want %s, steps %v", c.empty, d.Outcome, c.want, d.Steps)
		}
	}
}

func TestRewrite(t *testing.T) {
	front := viewOf(t, shop(), "front")
	for path, want := range map[string][2]string{
		"/old/a/b?q=/old/": {"v1.example", "/a/b?q=/old/"}, // the query is unchanged
		"/old/":            {"v1.example", "/"},
		"/here?q":          {"cart.example", "/there?q"},
		"/plain":           {"cart.example", "/plain"},
	} {
		t.Run(path, func(t *testing.T) {
			d := front.Decide(model.Request{Port: 80, Protocol: model.HTTP, Host: "cart.example", Path: path})
			if got := [2]string{d.Request.Host, d.Request.Path}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// A rewrite must not modify the metadata of the connection, which other requests use.
func TestRewriteDoesNotModifyMetadata(t *testing.T) {
	m := shop()
	m.Routers[2].Routes[0].Action.Rewrite = &model.Rewrite{Metadata: []model.MetadataSet{
		{Path: "/labels/zone", Value: "b"}, {Path: "new/deep/", Value: 1.0}, {Path: "/plain/below", Value: true},
	}}
	before := map[string]any{"labels": map[string]any{"zone": "a", "app": "x"}, "plain": "text"}
	front := viewOf(t, m, "front")
	d := front.Decide(model.Request{
		Port: 5432, Protocol: model.TCP, Address: netip.MustParseAddr("10.9.0.1"), Metadata: before,
	})
	want := map[string]any{
		"labels": map[string]any{"zone": "b", "app": "x"}, "new": map[string]any{"deep": 1.0}, "plain": map[string]any{"below": true},
	}
	if model.Hash(d.Request.Metadata) != model.Hash(want) {
		t.Errorf("got metadata %v, want %v", d.Request.Metadata, want)
	}
	if before["labels"].(map[string]any)["zone"] != "a" || before["plain"] != "text" || len(before) != 2 {
		t.Errorf("Decide modified the metadata of the connection: %v", before)
	}
}

func TestDecisionHasRouteSettings(t *testing.T) {
	front := viewOf(t, shop(), "front")
	d := front.Decide(model.Request{Port: 80, Protocol: model.HTTP, Host: "cart.example", Path: "/"})
	if d.Service != "cart.example" || d.Retry.Retries != 2 || d.Timeouts.Request != 5 || d.Targets[0].Weight != 90 {
		t.Errorf("%+v", d)
	}
	d = front.Decide(model.Request{Port: 5432, Protocol: model.TCP, Address: netip.MustParseAddr("10.9.0.1")})
	if !slices.Equal(d.ForwardChain, []string{"audit", "encrypt"}) ||
		!slices.Equal(d.ReverseChain, []string{"decrypt"}) {
		t.Errorf("got forward chain %v, reverse chain %v", d.ForwardChain, d.ReverseChain)
	}
}

func TestDecideInbound(t *testing.T) {
	open := shop()
	for _, c := range []struct {
		name    string
		mesh    model.Model
		request model.Request
		want    model.Outcome
	}{
		{"no policies", open, model.Request{Protocol: model.HTTP, Port: 8080}, model.ToApplication},
		{"TLS to a listener without TLS", open, model.Request{Protocol: model.HTTP, Port: 8080, TLS: &model.Handshake{}}, model.NotHTTP},
		{"a stream to a listener for HTTP", open, model.Request{Protocol: model.TCP, Port: 8080}, model.NotHTTP},
		{"port without listener", open, model.Request{Protocol: model.HTTP, Port: 1}, model.ToApplication},
	} {
		t.Run(c.name, func(t *testing.T) {
			front := viewOf(t, c.mesh, "front")
			if d := front.DecideInbound(c.request); d.Outcome != c.want {
				t.Errorf("got %s, want %s", d.Outcome, c.want)
			}
		})
	}
	front := viewOf(t, open, "front")
	if d := front.DecideInbound(model.Request{Protocol: model.HTTP, Port: 8080}); d.Timeouts.Idle != 1 {
		t.Errorf("the decision does not have the timeouts of the listener: %+v", d.Timeouts)
	}
}
