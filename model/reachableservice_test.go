package model_test

import (
	"fmt"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// A reachable service has the routes of its port, without targets that do not exist. It shares memory with the router,
// which stays as it was.
func TestRoutesOfReachableService(t *testing.T) {
	route := func(name string, port uint16, to ...string) model.Route {
		r := model.Route{Name: name, Port: port, Protocol: model.HTTP}
		for _, d := range to {
			r.Action.Destinations = append(r.Action.Destinations, model.WeightedDestination{Destination: d, Weight: 1})
		}
		return r
	}
	for _, c := range []struct {
		routes []model.Route
		want   string
	}{
		{[]model.Route{route("a", 0, "x"), route("b", 80, "x", "y")}, "a[x] b[x y]"},
		{[]model.Route{route("a", 0, "x"), route("b", 0, "gone", "y"), route("c", 0, "x")}, "a[x] b[y] c[x]"},
		{[]model.Route{route("a", 0, "gone"), route("b", 0, "x")}, "a[] b[x]"},
		{[]model.Route{route("a", 90, "x"), route("b", 80, "y")}, "b[y]"},
		{[]model.Route{route("a", 80, "x"), route("b", 90, "y"), route("c", 0, "x", "gone")}, "a[x] c[x]"},
	} {
		key := func(name string) model.Key { return model.Key{Mesh: "m", Name: name} }
		m := model.Model{
			Services: []model.Service{{Key: key("s"), Router: "r"}},
			Routers: []model.Router{{
				Key: key("r"), Ports: []model.RouterPort{{Port: 80, Protocol: model.HTTP}}, Routes: c.routes,
			}},
			Destinations: []model.Destination{{Key: key("x")}, {Key: key("y")}},
		}
		before := model.Hash(m)
		s, _ := model.NewReachableService(model.NewIndex(&m), key("s"))
		var got []string
		for _, r := range s.Ports[0].Routes {
			var to []string
			for _, d := range r.Action.Destinations {
				to = append(to, d.Destination)
			}
			got = append(got, fmt.Sprint(r.Name, to))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("got routes %s, want %s", text, c.want)
		}
		if s.Ports[0].Routes = append(s.Ports[0].Routes, route("more", 80)); before != model.Hash(m) {
			t.Errorf("%s: the router was modified", c.want)
		}
	}
}
