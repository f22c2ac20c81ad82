package explain

import (
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Target is a possible destination of the request.
type Target struct {
	model.WeightedDestination
	// Share is the fraction of requests that this destination gets, from 0 to 1.
	Share    float64        `json:"share"`
	Port     uint16         `json:"port,omitempty"`
	Protocol model.Protocol `json:"protocol"`
	// Transport is the protocol below JSONSocket.
	Transport model.Protocol  `json:"transport,omitempty"`
	Found     model.Discovery `json:"discovery"`
	// Ready and Instances count the pods behind it.
	Ready     int `json:"ready"`
	Instances int `json:"instances"`
	// Live is true if the pods are from a cluster. Pods from files have no addresses and are never ready.
	Live bool `json:"live"`
	// Health are the health check and the outlier detection of the sender, as text.
	Health []string `json:"health,omitempty"`
	// Receivers are who gets the requests. None means that there is no endpoint.
	Receivers []Receiver `json:"receivers,omitempty"`
	// Failure is what the client gets if no endpoint is ready.
	Failure *Failure `json:"failure,omitempty"`
}

// addTargets adds the targets of the decision.
func (a *Result) addTargets(find *finder, view *model.View) {
	var total uint32
	for _, t := range a.Decision.Targets {
		total += t.Weight
	}
	for _, t := range a.Decision.Targets {
		a.Targets = append(a.Targets, a.target(find, view, t, total))
	}
}

func (a *Result) target(find *finder, view *model.View, t model.WeightedDestination, total uint32) Target {
	out := Target{WeightedDestination: t, Share: float64(t.Weight) / float64(total), Live: find.live}
	d, _ := view.Destination(t.Destination)
	out.Port, out.Protocol, out.Transport = d.Port, d.Protocol, d.Transport
	out.Found, out.Health = d.Discovery, phrases.Health(d)
	var empty bool
	out.Receivers, empty = find.receivers(d, a.Workload.Origin.Object().Namespace)
	if empty {
		out.Failure = failureOf(model.Unavailable, a.Request)
	}
	for i := range out.Receivers {
		r := &out.Receivers[i]
		out.Ready, out.Instances = out.Ready+r.Ready, out.Instances+r.Instances
		r.receive(find.state, a, d)
	}
	return out
}

// receive adds what the receiver does with the request for a destination.
func (r *Receiver) receive(s *engine.State, a *Result, d model.Destination) {
	request := a.Decision.Request
	request.Port, request.State = r.Port, model.State{}
	r.undeclared = d.Workload == ""
	there := s.Views[r.Workload]
	if r.bare || r.around.Text != "" {
		there = nil
	}
	var serves *model.ServerTLS
	if there != nil {
		if l := listener(there.View, r.Port); l != nil {
			serves = l.TLS
		}
	}
	request.TLS, r.TLS = clientTLS(a.ownTLS(s, d.TLS), serves)
	if there != nil {
		inbound := there.DecideInbound(request)
		r.InboundDecision = &inbound
	}
	r.goAround(request)
	r.Failure = r.failure(a.Request)
	r.Limits = limitsOf(a.Decision, r.InboundDecision, d.Protocol)
}

// ownTLS returns how the sender connects. A certificate of the mesh is that of its own identity.
func (a *Result) ownTLS(s *engine.State, client *model.ClientTLS) *model.ClientTLS {
	if client == nil || client.Certificate == nil || client.Certificate.Secret.Provider != model.ProviderMesh {
		return client
	}
	identity, known := a.Workload.Identity(s)
	if !known {
		return client
	}
	own := *client
	own.Certificate = &model.Certificate{Secret: model.Secret{Provider: model.ProviderMesh, Name: identity.String()}}
	return &own
}

// empty lists the targets of a decision whose endpoints are known to be none.
func (f *finder) empty(w lookup.Workload, view *engine.View, d model.Decision) []string {
	var out []string
	for _, t := range d.Targets {
		to, _ := view.Destination(t.Destination)
		if _, none := f.receivers(to, w.Origin.Object().Namespace); none {
			out = append(out, t.Destination)
		}
	}
	return out
}
