package model_test

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// Policies add up. They are about requests or about connections, and only a verified certificate identifies a client.
func TestAuthorization(t *testing.T) {
	identity := func(account string) model.Identity {
		return model.Identity{TrustDomain: "t", Namespace: "n", Account: account}
	}
	origin := func(name string) model.Origin { return model.NewOrigin(model.ObjectRef{Kind: "Policy", Name: name}) }
	policy := func(name, client string, streams bool, ports []uint16, matches ...model.Match) model.AuthorizationPolicy {
		return model.AuthorizationPolicy{
			Key: model.Key{Mesh: "m", Name: name}, Sources: []model.Identity{identity(client)}, Streams: streams,
			Ports: ports, Matches: matches, Origin: origin(name),
		}
	}
	tls := &model.ServerTLS{
		Mode: model.TLSPermissive, Certificate: &model.Certificate{},
		Validation: &model.Validation{TrustFile: "ca"},
	}
	unverified := &model.ServerTLS{Mode: model.TLSStrict, Certificate: &model.Certificate{}}
	view := model.View{
		Workload: model.Workload{Authorize: true},
		Inbound: []model.Inbound{
			{Listener: model.Listener{Port: 80, Protocol: model.HTTP, TLS: tls}},
			{Listener: model.Listener{Port: 81, Protocol: model.HTTP, TLS: unverified}},
			{Listener: model.Listener{Port: 90, Protocol: model.TCP, TLS: tls}},
			{Listener: model.Listener{Port: 91, Protocol: model.TCP, TLS: tls}},
			{Listener: model.Listener{Port: 92, Protocol: model.TCP, TLS: tls}},
		},
		AuthorizationPolicies: []model.AuthorizationPolicy{
			policy("read", "alice", false, nil, model.Match{Method: "GET"}),
			policy("write", "alice", false, nil, model.Match{Method: "PUT", Path: model.StringMatch{Kind: model.Regex, Value: "/a.*"}}),
			policy("all", "bob", false, nil),
			policy("db", "carol", true, []uint16{90}),
			policy("any", "dave", true, nil),
			{Everyone: true, Streams: true, Ports: []uint16{91}, Origin: origin("open")},
		},
	}
	for _, c := range []struct {
		client, method, path string
		port                 uint16
		want                 model.Outcome
		step                 string
	}{
		{"alice", "GET", "/b", 80, model.ToApplication, "the policy allows it to spiffe://t/ns/n/sa/alice (Policy read)"},
		{"alice", "PUT", "/a?b", 80, model.ToApplication, "the policy allows it to spiffe://t/ns/n/sa/alice (Policy write)"},
		{"alice", "PUT", "/b", 80, model.Denied, "the policy allows spiffe://t/ns/n/sa/alice other requests (Policy write)"},
		{"alice", "GET", "/", 81, model.Denied, "no policy allows it to a client without identity"},
		{"alice", "", "", 90, model.Denied, "the policy allows spiffe://t/ns/n/sa/alice HTTP requests only (Policy read)"},
		{"alice2", "GET", "/b", 80, model.Denied, "no policy allows it to spiffe://t/ns/n/sa/alice2"},
		{"bob", "POST", "/", 80, model.ToApplication, "(Policy all)"},
		{"carol", "", "", 90, model.ToApplication, "(Policy db)"},
		{"bob", "", "", 91, model.ToApplication, "(Policy open)"},
		{"", "", "", 91, model.Denied, "no policy allows it to a client without identity"},
		{"carol", "", "", 92, model.Denied, "the policy allows spiffe://t/ns/n/sa/carol other ports (Policy db)"},
		{"carol", "GET", "/", 80, model.Denied, "allows spiffe://t/ns/n/sa/carol connections without HTTP only (Policy db)"},
		{"dave", "", "", 92, model.ToApplication, "(Policy any)"},
		{"", "GET", "/", 80, model.Denied, "no policy allows it to a client without identity"},
	} {
		r := model.Request{Port: c.port, Protocol: model.HTTP, Method: c.method, Path: c.path}
		if c.method == "" {
			r.Protocol = model.TCP
		}
		if c.client != "" {
			r.TLS = &model.Handshake{Authority: "ca", Names: []string{identity(c.client).String()}}
		}
		d := view.DecideInbound(r)
		var steps []string
		for _, s := range d.Steps {
			steps = append(steps, s.Text+" ("+s.Origin.String()+")")
		}
		if d.Outcome != c.want || !strings.Contains(strings.Join(steps, "\n"), c.step) {
			t.Errorf("%+v: got %s: %s", c, d.Outcome, strings.Join(steps, "; "))
		}
	}
	view.Workload.Authorize = false
	if d := view.DecideInbound(model.Request{Port: 80, Protocol: model.HTTP, Path: "/"}); d.Outcome != model.ToApplication {
		t.Errorf("without authorization, policies have the effect %s", d.Outcome)
	}
}

func TestAllowedStreams(t *testing.T) {
	a, b := model.Identity{TrustDomain: "t", Account: "a"}, model.Identity{TrustDomain: "t", Account: "b"}
	view := model.View{AuthorizationPolicies: []model.AuthorizationPolicy{
		{Sources: []model.Identity{b, a}, Streams: true, Ports: []uint16{1}},
		{Sources: []model.Identity{a}, Streams: true},
		{Sources: []model.Identity{a}},
		{Everyone: true, Streams: true, Ports: []uint16{3}},
	}}
	for port, want := range map[uint16]string{1: a.String() + " " + b.String(), 2: a.String(), 3: a.String()} {
		got, everyone := view.AllowedStreams(model.Listener{Port: port, Protocol: model.TCP})
		if strings.Join(got, " ") != want || everyone != (port == 3) {
			t.Errorf("port %d: got %v, everyone %t, want %s", port, got, everyone, want)
		}
	}
}
