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
	"anymesh.dev/anymesh/internal/dialect"
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
	// Failure is what the client gets from the sidecar of the workload; nil if it forwards the request.
	Failure *Failure `json:"failure,omitempty"`
	// Owner is the owner of the object that decides about a request from outside; nil if it has none.
	Owner *Owner `json:"owner,omitempty"`
	// Findings are the findings about objects on the path of the request.
	Findings []model.Finding `json:"findings,omitempty"`

	kinds dialect.KindNames
	// into is the object that the request enters: several objects may have listeners of one workload.
	into model.ObjectRef
}

// Delivered reports whether the request reaches an application or leaves the mesh.
func (a Result) Delivered() bool {
	reaches := func(o model.Outcome) bool {
		return o == model.Forwarded || o == model.ToApplication || leaves(o)
	}
	for _, t := range a.Targets {
		failed := func(r Receiver) bool { return r.Failure != nil && (r.Share > 0 || len(t.Receivers) == 1) }
		if t.Failure != nil || slices.ContainsFunc(t.Receivers, failed) {
			return false
		}
	}
	return reaches(a.Decision.Outcome) && !a.Unresolved
}

// Explainer explains requests in one state of the mesh.
type Explainer struct {
	find  *finder
	kinds dialect.KindNames
}

// New creates an Explainer.
func New(s *engine.State) *Explainer {
	return &Explainer{newFinder(s), dialect.KindNamesOfObjects(s.Objects)}
}

// From explains a request that a workload sends.
func From(s *engine.State, w lookup.Workload, r Request) Result { return New(s).From(w, r) }

// Into explains a request that a workload receives from an unknown sender. The sender of an https URL has no
// certificate.
func Into(s *engine.State, w lookup.Workload, r Request) Result { return New(s).Into(w, r) }

// From explains a request that a workload sends.
func (e *Explainer) From(w lookup.Workload, r Request) Result {
	find, s := e.find, e.find.state
	view := s.Views[w.Key]
	if a, is := find.fromUncaptured(w, r); is {
		return a
	}
	a := Result{Workload: w, kinds: e.kinds}
	first := find.uncaptured(w)
	var name resolution
	if r.Name != "" {
		name = find.resolve(w, r.Name)
		r.Address, first, a.Unresolved = name.address, append(first, name.step), name.fails
	}
	r.State.Empty = find.empty(w, view, view.Decide(r.Request))
	a.Decision = hideAssumed(view.Decide(r.Request), r.Name, name.pod)
	r.Address = a.Decision.Request.Address
	a.Request = r.Request
	a.Decision.Steps = slices.Concat(first, reasons(view.View, a.Decision))
	if a.Failure = failureOf(a.Decision.Outcome, a.Request); a.Unresolved {
		a.Failure = &Failure{Error: UnknownHost}
	}
	a.addTargets(find, view.View)
	a.Findings = about(s, a)
	return a
}

// Into explains a request that a workload receives, as the function of this name.
func (e *Explainer) Into(w lookup.Workload, r Request) Result {
	find, s := e.find, e.find.state
	if a, is := find.intoUncaptured(w, r); is {
		return a
	}
	view := s.Views[w.Key]
	if w.Role == model.RoleGateway {
		var closed model.Step
		if r, closed = find.entering(w, view.View, r); closed.Text != "" {
			return find.refused(w, r, closed)
		}
	}
	if in := listener(view.View, r.Port); r.encrypted != nil && in != nil && in.Protocol.Requests() {
		r.Request = *r.encrypted
		r.Protocol = in.Protocol
	}
	r.State.Empty = find.empty(w, view, view.DecideInbound(r.Request))
	a := Result{Request: r.Request, Workload: w, Inbound: true, kinds: e.kinds, into: w.Origin.Object()}
	if i := view.Accepting(r.Request); i >= 0 {
		if o := view.Inbound[i].Listener.Origin.Object(); o.Kind == a.into.Kind && o.Group == a.into.Group {
			a.into = o
		}
	}
	a.Decision = view.DecideInbound(r.Request)
	a.Decision.Steps = reasons(view.View, a.Decision)
	a.Failure = failureOf(a.Decision.Outcome, a.Request)
	a.addTargets(find, view.View)
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

// reasons adds the failed conditions to the steps of routes that do not match.
func reasons(view *model.View, d model.Decision) []model.Step {
	steps := slices.Clone(d.Steps)
	if !slices.ContainsFunc(steps, func(s model.Step) bool { return strings.HasSuffix(s.Text, " does not match") }) {
		return steps
	}
	all := routes(view)
	for i, step := range steps {
		for _, r := range all {
			if !r.Origin.Equal(step.Origin) || step.Text != "route "+r.Name+" does not match" {
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
	involved := map[model.ObjectRef]bool{a.Workload.Origin.Object(): true}
	note := func(d model.Decision) {
		for _, step := range d.Steps {
			involved[step.Origin.Object()] = true
		}
	}
	note(a.Decision)
	for _, t := range a.Targets {
		involved[t.Origin.Object()] = true
		for _, r := range t.Receivers {
			if r.InboundDecision != nil {
				note(*r.InboundDecision)
			}
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
