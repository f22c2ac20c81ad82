// Package explain says what becomes of a request, and why.
//
// In: a state of the mesh, a workload and a request. Out: the interpreter's decision on both sides, the caller's and that of whoever
// it may arrive at, every step with the object and field that made it so.
package explain

import (
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Answer is what becomes of a request.
type Answer struct {
	Request  model.Request   `json:"request"`
	Workload lookup.Workload `json:"workload"`
	// Arriving tells that the request arrives at the workload; otherwise the workload's application makes it.
	Arriving bool           `json:"arriving,omitempty"`
	Decision model.Decision `json:"decision"`
	// Targets are where it may go, in the order of the decision.
	Targets []Target `json:"targets,omitempty"`
	// Findings are those about objects that took part.
	Findings []model.Finding `json:"findings,omitempty"`
}

// Target is a destination that may get the request.
type Target struct {
	model.WeightedDestination
	// Share is the part of requests that go there, from 0 to 1.
	Share    float64         `json:"share"`
	Port     uint16          `json:"port,omitempty"`
	Protocol model.Protocol  `json:"protocol"`
	Found    model.Discovery `json:"discovery"`
	// Ready and Instances count the pods of the workload behind it.
	Ready     int `json:"ready"`
	Instances int `json:"instances"`
	// Live tells that pods are those of a cluster: in files none is ever ready.
	Live bool `json:"live"`
	// Arrival is what the sidecar there does with it; nil if there is none.
	Arrival *model.Decision `json:"arrival,omitempty"`
}

// Gets tells whether the request gets to an application, or out of the mesh.
func (a Answer) Gets() bool {
	reaches := func(o model.Outcome) bool {
		return o == model.Forwarded || o == model.ToApplication || o == model.PassedThrough
	}
	for _, t := range a.Targets {
		if t.Arrival != nil && !reaches(t.Arrival.Outcome) {
			return false
		}
	}
	return reaches(a.Decision.Outcome)
}

// From explains a request that the application of a workload makes.
func From(s *engine.State, w lookup.Workload, r model.Request) Answer {
	view := s.Views[w.Key]
	a := Answer{Request: r, Workload: w}
	a.Decision = view.Decide(r)
	a.Decision.Steps = reasons(view.View, a.Decision)
	var total uint32
	for _, t := range a.Decision.Targets {
		total += t.Weight
	}
	for _, t := range a.Decision.Targets {
		a.Targets = append(a.Targets, target(s, w, view.View, a.Decision.Request, t, total))
	}
	a.Findings = about(s, a)
	return a
}

// Into explains a request that arrives at a workload from somebody unknown.
func Into(s *engine.State, w lookup.Workload, r model.Request) Answer {
	view := s.Views[w.Key]
	a := Answer{Request: r, Workload: w, Arriving: true}
	a.Decision = view.DecideInbound(r)
	a.Decision.Steps = reasons(view.View, a.Decision)
	a.Findings = about(s, a)
	return a
}

func target(s *engine.State, caller lookup.Workload, view *model.View, r model.Request, t model.WeightedDestination, total uint32) Target {
	out := Target{WeightedDestination: t, Share: float64(t.Weight) / float64(total)}
	d, _ := view.Destination(t.Destination)
	out.Port, out.Protocol, out.Found = d.Port, d.Protocol, d.Discovery
	out.Live = d.Workload != "" && slices.ContainsFunc(s.Index.Model.Endpoints, func(e model.Endpoint) bool { return len(e.Addresses) > 0 })
	key := model.Key{Mesh: view.Mesh.Name, Name: d.Workload}
	for _, e := range s.Index.Endpoints(key) {
		out.Instances++
		if e.Ready {
			out.Ready++
		}
	}
	if there := s.Views[key]; there != nil {
		r.Port = d.Port
		r.Source, _ = caller.Identity(s)
		arrival := there.DecideInbound(r)
		out.Arrival = &arrival
	}
	return out
}

// reasons adds to each route that does not match which of its conditions does not hold.
func reasons(view *model.View, d model.Decision) []model.Step {
	steps := slices.Clone(d.Steps)
	for i, step := range steps {
		for _, r := range routes(view) {
			if r.Origin != step.Origin || step.Text != "route "+r.Name+" does not match" {
				continue
			}
			var failed []string
			for _, c := range phrases.Conditions(r.Match) {
				if !c.Match.Matches(d.Request) {
					failed = append(failed, c.Text)
				}
			}
			steps[i].Text = "route " + r.Name + " wants: " + strings.Join(failed, ", ")
			break
		}
	}
	return steps
}

func routes(view *model.View) []model.Route {
	var all []model.Route
	for _, o := range view.Outbound {
		for _, b := range o.Bindings {
			all = append(all, b.Routes...)
		}
	}
	for _, in := range view.Inbound {
		all = append(all, in.Routes...)
	}
	return all
}

// about gives the findings about objects that took part in an answer.
func about(s *engine.State, a Answer) []model.Finding {
	took := map[model.ObjectRef]bool{a.Workload.Origin.Object: true}
	note := func(d model.Decision) {
		for _, step := range d.Steps {
			took[step.Origin.Object] = true
		}
	}
	note(a.Decision)
	for _, t := range a.Targets {
		took[t.Origin.Object] = true
		if t.Arrival != nil {
			note(*t.Arrival)
		}
	}
	var out []model.Finding
	for _, f := range s.Findings {
		if took[f.Object] {
			out = append(out, f)
		}
	}
	return out
}
