package graph

import (
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// clients are the identities that the sidecars of a destination accept.
type clients struct {
	everyone bool
	ids      map[string]bool
}

// call adds to an edge what happens to the calls of a workload to a port of a service.
func (b *builder) call(e *Edge, w model.Workload, port uint16, to model.Binding) {
	e.ports++
	accepted, reached := false, false
	for _, route := range to.Routes {
		if r := route.Action.Retry; ofAnother(r.Origin, route.Origin) {
			e.Retries = max(e.Retries, r.Retries)
		}
		for _, t := range route.Action.Destinations {
			d, known := b.state.Index.Destination(model.Key{Mesh: w.Mesh, Name: t.Destination})
			if !known || t.Weight == 0 {
				continue
			}
			reached = true
			accepted = accepted || b.accepts(d, w)
			if d.Limits != nil && ofAnother(d.Limits.Origin, d.Origin) && !slices.Contains(e.Limits, d.Limits.String()) {
				e.Limits = append(e.Limits, d.Limits.String())
			}
		}
	}
	if reached && !accepted {
		e.Refused = append(e.Refused, port)
	}
}

// ofAnother reports whether an object of its own defines a part of an item.
func ofAnother(part, item model.Origin) bool {
	return !part.IsZero() && part.Object() != item.Object()
}

// accepts reports whether a sidecar of a destination accepts some calls of a workload. What is not known is accepted.
func (b *builder) accepts(d *model.Destination, w model.Workload) bool {
	of, known := b.accepted[d.Name]
	if !known {
		of = b.clientsOf(d)
		b.accepted[d.Name] = of
	}
	senders := b.state.Index.Endpoints(w.Key)
	return of.everyone || len(senders) == 0 ||
		slices.ContainsFunc(senders, func(e model.Endpoint) bool { return of.ids[e.Identity.String()] })
}

func (b *builder) clientsOf(d *model.Destination) clients {
	out := clients{ids: map[string]bool{}}
	all := b.state.Index.DiscoveredEndpoints(*d)
	seen := map[model.Key]bool{}
	for _, e := range all {
		view := b.state.Views[e.Workload]
		if seen[e.Workload] {
			continue
		}
		seen[e.Workload] = true
		if view == nil || !view.Workload.Authorize {
			return clients{everyone: true}
		}
		for _, in := range view.Inbound {
			if in.Listener.Port == d.PortAt(e) {
				out.add(view.AuthorizationPolicies, in.Listener)
			}
		}
	}
	out.everyone = out.everyone || len(all) == 0
	return out
}

func (c *clients) add(policies []model.AuthorizationPolicy, l model.Listener) {
	for _, a := range policies {
		if !a.AppliesTo(l) || a.Ingress != nil {
			continue
		}
		c.everyone = c.everyone || a.Everyone
		for _, id := range a.Sources {
			c.ids[id.String()] = true
		}
	}
}

// ratesOf describes the limits of the rates of a workload.
func ratesOf(w model.Workload) []string {
	var out []string
	add := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, l := range w.Listeners {
		if r := l.ConnectionRate; r != nil {
			add(fmt.Sprintf("connections: %s", r))
		}
		for _, r := range l.RequestRates {
			add(fmt.Sprintf("requests: %s", r.Limit))
		}
	}
	return out
}

// outside adds the clients and the destinations outside of the mesh that are allowed for a workload.
func (b *builder) outside(workload string, view *engine.View) {
	if view.Mesh.Egress == model.EgressDeny {
		for _, rule := range view.Workload.EgressRules {
			name := fmt.Sprintf("%s on port %d", &rule, rule.Port)
			b.add(Node{ID: "egress " + name, Kind: Address, Name: name, Object: rule.Origin.Object()})
			b.edge(workload, "egress "+name)
		}
	}
	for _, a := range view.AuthorizationPolicies {
		if a.Ingress != nil && view.Workload.Authorize {
			b.add(Node{ID: "ingress " + a.Ingress.String(), Kind: Address, Name: a.Ingress.String(), Object: a.Origin.Object()})
			b.edge("ingress "+a.Ingress.String(), workload)
		}
	}
}

// notes are what happens to the calls of an edge.
func (e Edge) notes() []string {
	var out []string
	switch n := len(e.Refused); {
	case n > 0 && n == e.ports:
		out = append(out, "refused")
	case n > 0:
		for _, port := range e.Refused {
			out = append(out, fmt.Sprintf("port %d refused", port))
		}
	}
	if e.Retries > 0 {
		out = append(out, fmt.Sprintf("up to %d retries", e.Retries))
	}
	return append(out, e.Limits...)
}
