// Package explain shows how the mesh routes a request.
//
// In: the state of the mesh, a workload and a request. Out: the decisions of the interpreter for the sidecar of the
// sender and for the sidecar of each destination; each step has the object and field that define it.
package explain

import (
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Result is the outcome of a request.
type Result struct {
	Request  model.Request   `json:"request"`
	Workload lookup.Workload `json:"workload"`
	// Inbound is true if the workload receives the request, false if it sends it.
	Inbound bool `json:"inbound,omitempty"`
	// Unresolved is true if the host name does not resolve. The decision applies to clients that have an address of it
	// from elsewhere.
	Unresolved bool           `json:"unresolved,omitempty"`
	Decision   model.Decision `json:"decision"`
	// Targets are the possible destinations, in the order of the decision.
	Targets []Target `json:"targets,omitempty"`
	// Owner is the owner of the object that decides about a request from outside; nil if it has none.
	Owner *Owner `json:"owner,omitempty"`
	// Findings are the findings about objects on the path of the request.
	Findings []model.Finding `json:"findings,omitempty"`
}

// Target is a possible destination of the request.
type Target struct {
	model.WeightedDestination
	// Share is the fraction of requests that this destination gets, from 0 to 1.
	Share    float64         `json:"share"`
	Port     uint16          `json:"port,omitempty"`
	Protocol model.Protocol  `json:"protocol"`
	Found    model.Discovery `json:"discovery"`
	// Ready and Instances count the pods of the workload behind it.
	Ready     int `json:"ready"`
	Instances int `json:"instances"`
	// Live is true if the pods are from a cluster. Pods from files have no addresses and are never ready.
	Live bool `json:"live"`
	// Health are the health check and the outlier detection of the sender, as text.
	Health []string `json:"health,omitempty"`
	// TLS is how the sidecar of the sender connects; nil without TLS.
	TLS *TLS `json:"tls,omitempty"`
	// InboundDecision is the decision of the sidecar of the destination; nil if it has none.
	InboundDecision *model.Decision `json:"inboundDecision,omitempty"`
}

// Delivered reports whether the request reaches an application or leaves the mesh.
func (a Result) Delivered() bool {
	reaches := func(o model.Outcome) bool {
		return o == model.Forwarded || o == model.ToApplication || o == model.PassedThrough
	}
	for _, t := range a.Targets {
		if t.TLS != nil && t.TLS.Refused || t.InboundDecision != nil && !reaches(t.InboundDecision.Outcome) {
			return false
		}
	}
	return reaches(a.Decision.Outcome) && !a.Unresolved
}

// From explains a request that a workload sends.
func From(s *engine.State, w lookup.Workload, r Request) Result {
	view := s.Views[w.Key]
	a := Result{Workload: w}
	var first []model.Step
	if r.Name != "" {
		name := resolve(s, w, r.Name)
		r.Address, first, a.Unresolved = name.address, []model.Step{name.step}, name.fails
	}
	a.Decision = hideAssumed(view.Decide(r.Request), r.Name)
	r.Address = a.Decision.Request.Address
	a.Request = r.Request
	a.Decision.Steps = slices.Concat(first, reasons(view.View, a.Decision))
	a.addTargets(s, view.View)
	a.Findings = about(s, a)
	return a
}

// Into explains a request that a workload receives from an unknown sender. The sender of an https URL has no
// certificate.
func Into(s *engine.State, w lookup.Workload, r Request) Result {
	view := s.Views[w.Key]
	if in := listener(view.View, r.Port); r.encrypted != nil && in != nil && in.Protocol.Requests() {
		r.Request = *r.encrypted
		r.Protocol = in.Protocol
	}
	a := Result{Request: r.Request, Workload: w, Inbound: true}
	a.Decision = view.DecideInbound(r.Request)
	a.Decision.Steps = reasons(view.View, a.Decision)
	a.addTargets(s, view.View)
	a.Findings = about(s, a)
	return a
}

// listener returns the listener of a workload on a port, or nil.
func listener(view *model.View, port uint16) *model.Listener {
	for i := range view.Inbound {
		if l := &view.Inbound[i].Listener; l.Port == port {
			return l
		}
	}
	return nil
}

// addTargets adds the targets of the decision.
func (a *Result) addTargets(s *engine.State, view *model.View) {
	var total uint32
	for _, t := range a.Decision.Targets {
		total += t.Weight
	}
	request := a.Decision.Request
	request.TLS = nil // the connection to the target is another one
	for _, t := range a.Decision.Targets {
		a.Targets = append(a.Targets, target(s, a.Workload, view, request, t, total))
	}
}

func target(s *engine.State, caller lookup.Workload, view *model.View, r model.Request, t model.WeightedDestination,
	total uint32) Target {
	out := Target{WeightedDestination: t, Share: float64(t.Weight) / float64(total)}
	d, _ := view.Destination(t.Destination)
	out.Port, out.Protocol, out.Found, out.Health = d.Port, d.Protocol, d.Discovery, phrases.Health(d)
	out.Live = d.Workload != "" && slices.ContainsFunc(s.Index.Model.Endpoints, func(e model.Endpoint) bool {
		return len(e.Addresses) > 0
	})
	key := model.Key{Mesh: view.Mesh.Name, Name: d.Workload}
	for _, e := range s.Index.Endpoints(key) {
		out.Instances++
		if e.Ready {
			out.Ready++
		}
	}
	there := s.Views[key]
	var serves *model.ServerTLS
	if there != nil {
		if l := listener(there.View, d.Port); l != nil {
			serves = l.TLS
		}
	}
	r.TLS, out.TLS = clientTLS(d.TLS, serves)
	if there != nil {
		r.Port = d.Port
		r.Source, _ = caller.Identity(s)
		inbound := there.DecideInbound(r)
		out.InboundDecision = &inbound
	}
	return out
}

// reasons adds the failed conditions to the steps of routes that do not match.
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
			steps[i].Text = "route " + r.Name + " does not match: requires " + strings.Join(failed, ", ")
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

// about returns the findings about objects on the path of the request.
func about(s *engine.State, a Result) []model.Finding {
	involved := map[model.ObjectRef]bool{a.Workload.Origin.Object: true}
	note := func(d model.Decision) {
		for _, step := range d.Steps {
			involved[step.Origin.Object] = true
		}
	}
	note(a.Decision)
	for _, t := range a.Targets {
		involved[t.Origin.Object] = true
		if t.InboundDecision != nil {
			note(*t.InboundDecision)
		}
	}
	var out []model.Finding
	for _, f := range s.Findings {
		if involved[f.Object] {
			out = append(out, f)
		}
	}
	return out
}
