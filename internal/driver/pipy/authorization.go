package pipy

import "anymesh.dev/anymesh/model"

// allowed returns the rules of a listener for requests that go to target. With authorization, only what a policy allows
// does, by the names in the certificate of the client that the listener has verified.
func (r *renderer) allowed(l model.Listener, target map[string]uint32) []RouteRule {
	if !r.view.Workload.Authorize {
		return []RouteRule{{TargetClusters: target}}
	}
	out := []RouteRule{}
	if l.TLS == nil || l.TLS.Validation == nil { // no client has an identity
		return out
	}
	for _, a := range r.view.AuthorizationPolicies {
		names := clientNames(a)
		if !a.AppliesTo(l) || a.Ingress == nil && len(names) == 0 {
			continue
		}
		matches := a.Matches
		if len(matches) == 0 {
			matches = []model.Match{{}}
		}
		for _, m := range matches {
			rule, ok := ruleOf(m)
			if !ok {
				r.findings = append(r.findings, model.NewFinding(a.Origin, model.CodeNotSupported,
					"driver pipy does not support a match of the policy, which allows no request by it"))
				continue
			}
			rule.AllowedServices, rule.Clients, rule.TargetClusters = names, outside(a.Ingress), target
			out = append(out, rule)
		}
	}
	return out
}

// clientNames returns the names in the certificates of the clients of a policy; "*" is for each. Without any, clients
// from outside of the mesh need none.
func clientNames(a model.AuthorizationPolicy) []string {
	switch {
	case a.Everyone:
		return []string{"*"}
	case a.Ingress != nil:
		return names(a.Ingress.Names)
	}
	var out []string
	for _, s := range a.Sources {
		out = append(out, s.DNSName())
	}
	return out
}

// outside returns the conditions of clients from outside of the mesh; nil for those of the mesh.
func outside(c *model.IngressClients) *Clients {
	if c == nil {
		return nil
	}
	out := &Clients{TLS: c.TLS, ServerNames: lower(c.ServerNames)}
	if len(c.Addresses) > 0 {
		out.Addresses = ranges(c.Addresses)
	}
	return out
}

// exceptions returns the clients from outside of the mesh that need no certificate on a listener with TLS.
func (r *renderer) exceptions(l model.Listener) []Clients {
	if l.TLS == nil || !r.view.Workload.Authorize {
		return nil
	}
	var out []Clients
	for i := range r.view.AuthorizationPolicies {
		a := &r.view.AuthorizationPolicies[i]
		if a.Ingress != nil && a.AppliesTo(l) && len(a.Ingress.Names) == 0 {
			out = append(out, *outside(a.Ingress))
		}
	}
	return out
}
