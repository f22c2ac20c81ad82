package model_test

import (
	"fmt"
	"testing"

	"anymesh.dev/anymesh/model"
)

// gateway is the shop with a door: a gateway without backends, whose routes lead to services.
func gateway() model.Model {
	m := shop()
	route := func(name, prefix string, to model.ServiceTarget, rewrite *model.Rewrite) model.Route {
		return model.Route{
			Name: name, Protocol: model.HTTP,
			Match: model.Match{
				Hosts: []string{"*.shop.example"}, Path: model.StringMatch{Kind: model.Prefix, Value: prefix},
			},
			Action: model.Action{Service: &to, Rewrite: rewrite},
		}
	}
	m.Workloads = append(m.Workloads, model.Workload{
		Key: model.Key{Mesh: "m", Name: "door"}, Role: model.RoleGateway,
		Listeners: []model.Listener{{Port: 8443, Protocol: model.HTTP, Router: "door"}},
	})
	m.Routers = append(m.Routers, model.Router{Key: model.Key{Mesh: "m", Name: "door"}, Routes: []model.Route{
		route("cart", "/cart", model.ServiceTarget{Service: "cart.example"},
			&model.Rewrite{PathPrefix: new(""), Host: "cart.example"}),
		route("calls", "/calls", model.ServiceTarget{Service: "items.example", Port: 90}, nil),
		route("nowhere", "/nowhere", model.ServiceTarget{Service: "items.example", Port: 7}, nil),
	}})
	return m
}

func TestGatewayFollowsServiceRoutes(t *testing.T) {
	door := viewOf(t, gateway(), "door")
	for _, c := range []struct {
		text, host, path string
		outcome          model.Outcome
		route, leavesAs  string
	}{
		{"the service's own route decides", "www.shop.example", "/cart/x", model.Forwarded, "all", "/x"},
		{"after the gateway has rewritten", "www.shop.example", "/cart/old/y", model.Forwarded, "old", "/y"},
		{"on the port that it names", "www.shop.example", "/calls/m", model.Forwarded, "calls", "/calls/m"},
		{"a port that the service has not", "www.shop.example", "/nowhere", model.NotFound, "nowhere", "/nowhere"},
		{"another host", "www.example", "/cart/x", model.NotFound, "", "/cart/x"},
		{"no route", "www.shop.example", "/", model.NotFound, "", "/"},
	} {
		d := door.DecideInbound(model.Request{Port: 8443, Protocol: model.HTTP, Host: c.host, Path: c.path})
		if d.Outcome != c.outcome || d.Route != c.route || d.Request.Path != c.leavesAs {
			t.Errorf("%s: %s by route %q as %s\n%+v", c.text, d.Outcome, d.Route, d.Request.Path, d.Steps)
		}
	}
}

// A gateway has no application and no backends: all that it may reach comes from its routes.
func TestGatewayViewHasServicesOfRoutes(t *testing.T) {
	door := viewOf(t, gateway(), "door")
	for _, name := range []string{"cart-v1", "cart-v2", "items-calls"} {
		if _, ok := door.Destination(name); !ok {
			t.Errorf("destination %s is missing from the view", name)
		}
	}
	if _, ok := door.Destination("db"); ok {
		t.Error("the database is in the view of a gateway that has no route to it")
	}
}

// Two routes to one service are two ways to it, not two services.
func TestSeveralRoutesToOneService(t *testing.T) {
	m := gateway()
	routes := &m.Routers[len(m.Routers)-1].Routes
	again := (*routes)[0]
	again.Name = "again"
	*routes = append(*routes, again)
	door := viewOf(t, m, "door")
	seen := map[string]bool{}
	for _, o := range door.Outbound {
		for _, b := range o.Bindings {
			key := fmt.Sprint(b.Service, o.Port)
			if seen[key] {
				t.Errorf("service %s is on port %d twice", b.Service, o.Port)
			}
			seen[key] = true
		}
	}
}
