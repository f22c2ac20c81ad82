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
		if a.Ingress != nil || !a.AppliesTo(l) { // the feature authorization.ingress has a finding
			continue
		}
		clients := clientNames(a)
		if len(clients) == 0 {
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
			rule.AllowedServices, rule.TargetClusters = clients, target
			out = append(out, rule)
		}
	}
	return out
}

// clientNames returns the names in the certificates of the clients of a policy; "*" is for each.
func clientNames(a model.AuthorizationPolicy) []string {
	if a.Everyone {
		return []string{"*"}
	}
	var out []string
	for _, s := range a.Sources {
		out = append(out, s.DNSName())
	}
	return out
}
