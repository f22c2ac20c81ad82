package model_test

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

func TestConnect(t *testing.T) {
	own, other := model.Certificate{ChainFile: "own"}, model.Certificate{ChainFile: "other"}
	read := func(c model.Certificate) model.Handshake {
		return model.Handshake{Authority: c.ChainFile + "-ca", Names: []string{"a.example", c.ChainFile + ".example"}}
	}
	trust := func(authority string, names ...string) *model.Validation {
		return &model.Validation{TrustFile: authority, Names: names}
	}
	server := func(mode model.TLSMode, v *model.Validation) *model.ServerTLS {
		return &model.ServerTLS{Mode: mode, Certificate: &own, Validation: v}
	}
	for _, c := range []struct {
		name   string
		client *model.ClientTLS
		server *model.ServerTLS
		ok     bool
		why    string
	}{
		{"no TLS", nil, nil, true, ""},
		{"client only", &model.ClientTLS{}, nil, false, "the listener does not serve TLS"},
		{"strict server only", nil, server(model.TLSStrict, nil), false, "the listener requires TLS"},
		{"permissive server only", nil, server(model.TLSPermissive, trust("own-ca")), true,
			"the listener accepts connections without TLS"},
		{"no certificate", &model.ClientTLS{}, &model.ServerTLS{Mode: model.TLSStrict}, false,
			"the listener has no certificate"},
		{"no validation", &model.ClientTLS{}, server(model.TLSStrict, nil), true, "the listener serves TLS"},
		{"validated server", &model.ClientTLS{Validation: trust("own-ca", "b.example", "own.example")},
			server(model.TLSStrict, nil), true, "the certificate is valid"},
		{"server of another authority", &model.ClientTLS{Validation: trust("other-ca")}, server(model.TLSStrict, nil),
			false, "no authority in other-ca issued the certificate"},
		{"server with another name", &model.ClientTLS{Validation: trust("own-ca", "b.example", "c.example")},
			server(model.TLSStrict, nil), false, "the certificate has none of the names b.example, c.example"},
		{"no trust", &model.ClientTLS{Validation: trust("")}, server(model.TLSStrict, nil), false,
			"no authority is trusted"},
		{"client without certificate", &model.ClientTLS{}, server(model.TLSPermissive, trust("own-ca")), false,
			"the peer has no certificate"},
		{"client of another authority", &model.ClientTLS{Certificate: &other}, server(model.TLSStrict, trust("own-ca")),
			false, "no authority in own-ca issued the certificate"},
		{"mutual TLS", &model.ClientTLS{Certificate: &other, Validation: trust("own-ca", "own.example")},
			server(model.TLSStrict, trust("other-ca", "other.example")), true, "the certificate is valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if ok, why := model.Connect(c.client, c.server, read); ok != c.ok || why != c.why {
				t.Errorf("got %v, %q, want %v, %q", ok, why, c.ok, c.why)
			}
		})
	}
}

// TestConflictingClientPolicies checks that the policy of the first of two backends decides how a common destination is
// reached, and that the other has a finding.
func TestConflictingClientPolicies(t *testing.T) {
	policy := func(file string) *model.ClientPolicy {
		return &model.ClientPolicy{Enforce: true, Validation: &model.Validation{TrustFile: file}}
	}
	key := func(name string) model.Key { return model.Key{Mesh: "m", Name: name} }
	service := func(name string) (model.Service, model.Router) {
		return model.Service{Key: key(name), Router: name}, model.Router{
			Key: key(name), Ports: []model.RouterPort{{Port: 80, Protocol: model.HTTP}},
			Routes: []model.Route{{Name: "all", Protocol: model.HTTP, Action: model.Action{
				Destinations: []model.WeightedDestination{{Destination: "common", Weight: 1}},
			}}},
		}
	}
	a, toA := service("a.example")
	b, toB := service("b.example")
	m := model.Model{
		Meshes: []model.Mesh{{Name: "m"}}, Services: []model.Service{a, b}, Routers: []model.Router{toA, toB},
		Destinations: []model.Destination{{
			Key: key("common"), Port: 80, Protocol: model.HTTP,
			Discovery: model.Discovery{Kind: model.DiscoverDNS, Hostname: "common.example"},
		}},
		Workloads: []model.Workload{{Key: key("front"), ClientPolicy: policy("default"), Backends: []model.Backend{
			{Service: "a.example", Path: "spec.backends[0]", ClientPolicy: policy("a")},
			{Service: "b.example", Path: "spec.backends[1]"},
		}}},
	}
	v, findings, ok := model.NewView(model.NewIndex(model.Merge(m)), key("front"))
	if !ok {
		t.Fatal("no view")
	}
	d, _ := v.Destination("common")
	if d.TLS == nil || d.TLS.Validation.TrustFile != "a" || d.TLS.Validation.Names[0] != "common.example" {
		t.Errorf("got TLS %+v", d.TLS)
	}
	if len(findings) != 1 || findings[0].Path != "spec.backends[1]" || findings[0].Code != model.CodeInvalidField ||
		!strings.Contains(findings[0].Text, "connections to common") {
		t.Errorf("got findings %v", findings)
	}
}
