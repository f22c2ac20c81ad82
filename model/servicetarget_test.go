package model

import "testing"

// A service whose routes target the service itself must not cause an endless loop.
func TestServiceRouteCannotTargetService(t *testing.T) {
	target := &ServiceTarget{Service: "s"}
	m := Merge(Model{
		Meshes:    []Mesh{{Name: "m"}},
		Workloads: []Workload{{Key: Key{"m", "w"}, Backends: []Backend{{Service: "s"}}}},
		Services:  []Service{{Key: Key{"m", "s"}, Router: "r"}},
		Routers: []Router{{Key: Key{"m", "r"}, Ports: []RouterPort{{Port: 80, Protocol: HTTP}},
			Routes: []Route{{Name: "round", Protocol: HTTP, Action: Action{Service: target}}}}},
	})
	view, _, ok := NewView(NewIndex(m), Key{"m", "w"})
	if !ok {
		t.Fatal("no view")
	}
	d := view.Decide(Request{Port: 80, Protocol: HTTP, Host: "s", Method: "GET", Path: "/"})
	if d.Outcome != NotFound {
		t.Errorf("outcome %s, want NotFound", d.Outcome)
	}
}
