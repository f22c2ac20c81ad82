package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Object is the description of an object that is not a workload, service, router or mesh, or that is not served.
type Object struct {
	model.ObjectRef
	// Items are the mesh items that the object defines.
	Items []Item `json:"items,omitempty"`
	// UsedBy are the fields of other objects through which the object has effect.
	UsedBy []model.Origin `json:"usedBy,omitempty"`
	// Routes are the routes that the object defines.
	Routes   []Route         `json:"routes,omitempty"`
	Status   []Condition     `json:"status,omitempty"`
	Findings []model.Finding `json:"findings,omitempty"`

	// needsUse is true for an object that defines nothing by itself.
	needsUse bool
	kinds    dialect.KindNames
}

// Item is a mesh item, and the field that defines it.
type Item struct {
	Mesh string `json:"mesh"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	Path string `json:"path,omitempty"`
}

// Condition is a status condition of an object in the cluster.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// OfObject describes an object.
func OfObject(s *engine.State, o client.Object) Object {
	ref := dialect.RefOf(o)
	out := Object{
		ObjectRef: ref, Status: conditions(s, ref), Findings: findingsAbout(s, map[model.ObjectRef]bool{ref: true}),
		kinds: dialect.KindNamesOfObjects(s.Objects),
	}
	item := func(mesh, kind, name string, at model.Origin) {
		if at.Object() == ref {
			out.Items = append(out.Items, Item{mesh, kind, name, at.Path})
		}
	}
	m := s.Index.Model
	for _, w := range m.Workloads {
		item(w.Mesh, "workload", w.Name, w.Origin)
		for _, b := range w.External {
			item(w.Mesh, "external", w.Name+" → "+b.Service, w.BackendOrigin(b))
		}
		for _, rule := range w.EgressRules {
			item(w.Mesh, "egress", fmt.Sprintf("%s → %s on port %d", w.Name, &rule, rule.Port), rule.Origin)
		}
		for _, l := range w.Listeners {
			if rate := l.ConnectionRate; rate != nil {
				item(w.Mesh, "rate limit", fmt.Sprintf("%s:%d connections, %s", w.Name, l.Port, rate), rate.Origin)
			}
			for _, rate := range l.RequestRates {
				item(w.Mesh, "rate limit", fmt.Sprintf("%s:%d %s", w.Name, l.Port, rate.Limit), rate.Origin)
			}
		}
	}
	for _, a := range m.AuthorizationPolicies {
		item(a.Mesh, "policy", a.Who()+" → "+a.Workload, a.Origin)
	}
	for _, d := range m.Destinations {
		if d.Limits != nil {
			item(d.Mesh, "limits", fmt.Sprintf("%s %s", d.Name, d.Limits), d.Limits.Origin)
		}
	}
	for _, v := range m.Services {
		item(v.Mesh, "service", v.Name, v.Origin)
	}
	for _, r := range m.Routers {
		item(r.Mesh, "router", r.Name, r.Origin)
		for _, route := range r.Routes {
			item(r.Mesh, "route", r.Name+" "+route.Name, route.Origin)
			item(r.Mesh, "retry", r.Name+" "+route.Name, route.Action.Retry.Origin)
			if route.Origin.Object() == ref {
				out.Routes = append(out.Routes, routeOf(s, r.Mesh, route))
			}
		}
	}
	for _, d := range m.Destinations {
		item(d.Mesh, "destination", d.Name, d.Origin)
	}
	for _, g := range m.ServiceGroups {
		item(g.Mesh, "group", g.Name, g.Origin)
		for _, b := range g.Members {
			item(g.Mesh, "member", b.Service, g.Origin.At(b.Path))
		}
	}
	for _, d := range dialect.Implementing[dialect.Roots](dialect.All()) {
		for _, r := range d.Roots(s.Objects) {
			role := "a root that is trusted"
			if r.Active {
				role = "the root that signs certificates"
			}
			item("every mesh", "root", role, r.Origin)
		}
	}
	for _, d := range dialect.Implementing[dialect.References](dialect.All()) {
		if used, is := d.ReferencesTo(o, s.Objects); is {
			out.UsedBy, out.needsUse = used, true
		}
	}
	slices.SortStableFunc(out.Items, func(a, b Item) int { return cmp.Compare(a.Mesh, b.Mesh) })
	return out
}

// conditions returns the status conditions of an object.
func conditions(s *engine.State, ref model.ObjectRef) []Condition {
	o, ok := lookup.FindObject(s, schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Name, ref.Namespace)
	if !ok {
		return nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil // unreachable: objects are decoded from JSON
	}
	var with struct {
		Status struct{ Conditions []Condition }
	}
	if json.Unmarshal(text, &with) != nil {
		return nil // the status has no conditions
	}
	return with.Status.Conditions
}
