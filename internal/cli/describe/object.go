package describe

import (
	"cmp"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Object is what an object means that is no workload, service, router or mesh by itself, or that is not served.
type Object struct {
	model.ObjectRef
	// Means are the parts of the mesh that come from the object.
	Means    []Part          `json:"means,omitempty"`
	Status   []Condition     `json:"status,omitempty"`
	Findings []model.Finding `json:"findings,omitempty"`
}

// Part is something in the mesh, and the field that it comes from.
type Part struct {
	Mesh string `json:"mesh"`
	What string `json:"what"`
	Name string `json:"name"`
	Path string `json:"path,omitempty"`
}

// Condition is what the control plane of a cluster said about an object, there and then: what sidecars refused too.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// OfObject describes an object.
func OfObject(s *engine.State, o client.Object) Object {
	ref := dialect.RefOf(o)
	out := Object{ObjectRef: ref, Status: conditions(s, ref), Findings: findings(s, map[model.ObjectRef]bool{ref: true})}
	part := func(mesh, what, name string, at model.Origin) {
		if at.Object == ref {
			out.Means = append(out.Means, Part{mesh, what, name, at.Path})
		}
	}
	m := s.Index.Model
	for _, w := range m.Workloads {
		part(w.Mesh, "workload", w.Name, w.Origin)
	}
	for _, v := range m.Services {
		part(v.Mesh, "service", v.Name, v.Origin)
	}
	for _, r := range m.Routers {
		part(r.Mesh, "router", r.Name, r.Origin)
		for _, route := range r.Routes {
			part(r.Mesh, "route", r.Name+" "+route.Name, route.Origin)
		}
	}
	slices.SortStableFunc(out.Means, func(a, b Part) int { return cmp.Compare(a.Mesh, b.Mesh) })
	return out
}

// conditions are those that an object has in the cluster that it was read from.
func conditions(s *engine.State, ref model.ObjectRef) []Condition {
	o, ok := lookup.FindObject(s, schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Name, ref.Namespace)
	if !ok {
		return nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil // it was read from JSON
	}
	var with struct {
		Status struct{ Conditions []Condition }
	}
	if json.Unmarshal(text, &with) != nil {
		return nil // another kind of status
	}
	return with.Status.Conditions
}
