package model_test

import (
	"fmt"
	"testing"

	"anymesh.dev/anymesh/model"
)

// gateway returns the shop mesh with a gateway "door" that has no backends and routes to services.
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
		name, host, path string
		outcome          model.Outcome
		route, newPath   string
	}{
		{"route of the service", "www.shop.example", "/cart/x", model.Forwarded, "all", "/x"},
		{"route of the service after rewrite", "www.shop.example", "/cart/old/y", model.Forwarded, "old", "/y"},
		{"port of the target", "www.shop.example", "/calls/m", model.Forwarded, "calls", "/calls/m"},
		{"unknown port", "www.shop.example", "/nowhere", model.NotFound, "nowhere", "/nowhere"},
		{"unknown host", "www.example", "/cart/x", model.NotFound, "", "/cart/x"},
		{"no matching route", "www.shop.example", "/", model.NotFound, "", "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := door.DecideInbound(model.Request{Port: 8443, Protocol: model.HTTP, Host: c.host, Path: c.path})
			if d.Outcome != c.outcome || d.Route != c.route || d.Request.Path != c.newPath {
				t.Errorf("got %s by route %q with path %s\n%+v", d.Outcome, d.Route, d.Request.Path, d.Steps)
			}
		})
	}
}

// A gateway has no backends: its view has the services of its routes.
func TestGatewayViewHasServicesOfRoutes(t *testing.T) {
	door := viewOf(t, gateway(), "door")
	for _, name := range []string{"cart-v1", "cart-v2", "items-calls"} {
		if _, ok := door.Destination(name); !ok {
			t.Errorf("destination %s is missing in the view", name)
		}
	}
	if _, ok := door.Destination("db"); ok {
		t.Error("the view has destination db without a route to it")
	}
}

// A service that is the target of several routes is in the view once.
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
				t.Errorf("duplicate service %s on port %d", b.Service, o.Port)
			}
			seen[key] = true
		}
	}
}
