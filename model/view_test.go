package model_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

func TestViewHasBackends(t *testing.T) {
	front := viewOf(t, shop(), "front")
	var ports []uint16
	for _, o := range front.Outbound {
		ports = append(ports, o.Port)
	}
	if len(ports) != 3 || ports[0] != 80 || ports[1] != 90 || ports[2] != 5432 {
		t.Errorf("got ports %v", ports)
	}
	if len(front.Destinations) != 9 {
		t.Errorf("got %d destinations, want those of all routes and chains, each once", len(front.Destinations))
	}
	if _, ok := front.Destination("gone"); ok {
		t.Error("the view has a destination that does not exist")
	}
	if cart := viewOf(t, shop(), "cart"); len(cart.Outbound)+len(cart.Destinations)+len(cart.Inbound) != 0 {
		t.Errorf("workload without backends and listeners: got %+v", cart)
	}
}

func TestViewWithAllBackends(t *testing.T) {
	m := shop()
	m.Workloads[1].BackendsAll = true
	m.Services = append(m.Services, model.Service{Key: model.Key{Mesh: "other", Name: "cart.example"}, Router: "cart"})
	all, front := viewOf(t, m, "cart"), viewOf(t, m, "front")
	if model.Hash(all.Outbound) != model.Hash(front.Outbound) {
		t.Errorf("BackendsAll:\n%+v\nall services as backends:\n%+v", all.Outbound,
			front.Outbound)
	}
}

func TestViewWithoutMesh(t *testing.T) {
	m := shop()
	m.Meshes = nil
	if _, _, ok := model.NewView(model.NewIndex(model.Merge(m)), model.Key{Mesh: "m", Name: "front"}); ok {
		t.Error("got a view without a mesh")
	}
	if _, _, ok := model.NewView(model.NewIndex(model.Merge(shop())), model.Key{Mesh: "m", Name: "missing"}); ok {
		t.Error("got a view of a workload that does not exist")
	}
}

// Any number of HTTP services can share a port, because requests have a host name. TCP services need different
// addresses.
func TestServicesOnOnePort(t *testing.T) {
	at := func(s string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(s)} }
	type service struct {
		protocol  model.Protocol
		addresses []netip.Addr
	}
	for _, c := range []struct {
		name     string
		a, b     service
		conflict bool
	}{
		{"HTTP and HTTP", service{model.HTTP, nil}, service{model.HTTP, nil}, false},
		{"HTTP and gRPC", service{model.HTTP, nil}, service{model.GRPC, nil}, false},
		{"TCP without addresses", service{model.TCP, nil}, service{model.TCP, nil}, true},
		{"TCP with addresses", service{model.TCP, at("10.0.0.1")}, service{model.TCP, at("10.0.0.2")}, false},
		{"TCP, one without an address", service{model.TCP, at("10.0.0.1")}, service{model.TCP, nil}, true},
		{"TCP without an address and HTTP", service{model.TCP, nil}, service{model.HTTP, nil}, true},
		{"HTTP and TCP without an address", service{model.HTTP, nil}, service{model.TCP, nil}, true},
		{"TCP with an address and HTTP", service{model.TCP, at("10.0.0.1")}, service{model.HTTP, nil}, false},
		{"TCP and UDP", service{model.TCP, nil}, service{model.UDP, nil}, false},
		{"UDP and UDP", service{model.UDP, nil}, service{model.UDP, nil}, true},
		{"TCP with the same address", service{model.TCP, at("10.0.0.1")}, service{model.TCP, at("10.0.0.1")}, true},
		{"TCP and HTTP with the same address", service{model.TCP, at("10.0.0.1")}, service{model.HTTP, at("10.0.0.1")}, true},
		{"TCP, the first without an address", service{model.TCP, nil}, service{model.TCP, at("10.0.0.1")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			key := func(name string) model.Key { return model.Key{Mesh: "m", Name: name} }
			m := model.Model{
				Meshes: []model.Mesh{{Name: "m"}},
				Workloads: []model.Workload{{Key: key("w"), Backends: []model.Backend{
					{Service: "a"},
					{Service: "b", Object: &model.ObjectRef{Kind: "VirtualNode", Name: "w"}, Path: "spec.backends[1]"},
				}}},
				Services: []model.Service{
					{Key: key("a"), Router: "a", Addresses: c.a.addresses},
					{Key: key("b"), Router: "b", Addresses: c.b.addresses},
				},
				Routers: []model.Router{
					{Key: key("a"), Ports: []model.RouterPort{{Port: 7, Protocol: c.a.protocol}}}, {Key: key("b"), Ports: []model.RouterPort{{Port: 7, Protocol: c.b.protocol}}},
				},
			}
			view, findings, _ := model.NewView(model.NewIndex(model.Merge(m)), key("w"))
			findings = slices.DeleteFunc(findings, func(f model.Finding) bool { return f.Code == model.CodeAnyAddress })
			if c.conflict != (len(findings) == 1) || c.conflict != (len(view.Outbound[0].Bindings) == 1) {
				t.Errorf("got findings %v, bindings %+v", findings, view.Outbound[0].Bindings)
				return
			}
			if c.conflict &&
				(findings[0].Code != model.CodePortConflict || findings[0].Path != "spec.backends[1]" || !strings.Contains(findings[0].Text, "port 7")) {
				t.Errorf("got finding %s", findings[0])
			}
			if view.Outbound[0].Bindings[0].Service != "a" {
				t.Error("the first service has no binding")
			}
		})
	}
}

// A stream that is alone on its port takes connections to every address only if it has none of its own, or if the mesh
// says so.
func TestStreamAloneOnPort(t *testing.T) {
	for _, c := range []struct {
		addresses, shared, any bool
		want                   model.Outcome
	}{
		{true, false, false, model.Refused}, {true, false, true, model.Forwarded}, {true, true, true, model.Refused},
		{false, false, false, model.Forwarded}, {false, false, true, model.Forwarded},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			m := shop()
			m.Meshes[0].AnyAddress = c.any
			if !c.shared {
				m.Workloads[0].Backends = []model.Backend{{Service: "db.example"}}
			}
			if i := slices.IndexFunc(m.Services, func(s model.Service) bool { return s.Name == "db.example" }); !c.addresses {
				m.Services[i].Addresses = nil
			}
			front := viewOf(t, m, "front")
			d := front.Decide(model.Request{
				Port: 5432, Protocol: model.TCP, Address: netip.MustParseAddr("10.9.0.2"),
			})
			if d.Outcome != c.want {
				t.Errorf("%s, want %s: %+v", d.Outcome, c.want, d.Steps)
			}
		})
	}
}
