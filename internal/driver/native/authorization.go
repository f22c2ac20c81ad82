package native

import (
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
)

// Where the metadata of a connection have the certificate of the client, which the listener has verified, and its URIs.
const (
	peerCertificate = "/TLS/peer"
	peerURIs        = "/TLS/peer/uris"
	peerNames       = "/TLS/peer/dns"
	askedName       = "/TLS/sni"
	// clientAddress is the address of the client of a gateway, behind trusted proxies.
	clientAddress = "/HTTP/client"
)

// requestRules returns the rules of a listener for requests that go to a route, with the origins of the policies. With
// authorization, only what a policy allows does.
func (r *renderer) requestRules(l model.Listener, to *config.Route) ([]config.RuleRef, []model.Origin) {
	rule := func(match any, action config.Action) config.RuleRef {
		return config.RuleRef{Inline: &config.Rule{Match: match, Action: action}}
	}
	forward := func(match any) []config.RuleRef {
		var out []config.RuleRef
		for _, limit := range r.rates(l) {
			limited := *to
			limited.Rate = requestRate(limit.RequestRate)
			out = append(out, rule(both(match, limit.match), config.Action{Route: &config.RouteRef{Inline: &limited}}))
		}
		return append(out, rule(match, config.Action{Route: &config.RouteRef{Inline: to}}))
	}
	if !r.view.Workload.Authorize || !l.Protocol.Requests() {
		return forward(nil), nil
	}
	var allowed []any
	var origins []model.Origin
	if l.TLS != nil && l.TLS.Validation != nil { // without, no client has an identity
		for _, a := range r.view.AuthorizationPolicies {
			if client := clientPredicate(a); client != nil && a.AppliesTo(l) {
				allowed = append(allowed, r.allowedRequests(a, client)...)
				origins = append(origins, a.Origin)
			}
		}
	}
	denied := rule(nil, config.Action{Deny: true})
	if len(allowed) == 0 {
		return []config.RuleRef{denied}, origins
	}
	return append(forward(anyOf(allowed...)), denied), origins
}

// matchedRate is a rate limit with the predicate of its requests; nil for all.
type matchedRate struct {
	model.RequestRate
	match any
}

// rates returns the rate limits of the requests of a listener. One that the proxy cannot match has a finding.
func (r *renderer) rates(l model.Listener) []matchedRate {
	if !l.Protocol.Requests() {
		return nil
	}
	var out []matchedRate
	for _, rate := range l.RequestRates {
		match, ok := predicateOf(rate.Match)
		if !ok {
			r.findings = append(r.findings, model.NewFinding(rate.Origin, model.CodeNotSupported,
				"driver native does not support the match of the rate limit, which limits nothing"))
			continue
		}
		out = append(out, matchedRate{rate, match})
	}
	return out
}

// both returns a predicate that matches what both match; nil matches all.
func both(a, b any) any {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return all(a, b)
}

// clientPredicate matches the clients that a policy allows; nil for none.
func clientPredicate(a model.AuthorizationPolicy) any {
	switch {
	case a.Ingress != nil:
		return ingressPredicate(a.Ingress)
	case a.Everyone:
		return object{"op": "defined", "path": peerCertificate}
	case len(a.Sources) == 0:
		return nil
	}
	var ids []any
	for _, s := range a.Sources {
		ids = append(ids, s.String())
	}
	return op("intersects", peerURIs, ids)
}

// allowedRequests returns predicates of the requests that a policy allows to its clients. What the proxy cannot match
// is not allowed.
func (r *renderer) allowedRequests(a model.AuthorizationPolicy, client any) []any {
	if len(a.Matches) == 0 {
		return []any{client}
	}
	var matches []any
	for _, m := range a.Matches {
		match, ok := predicateOf(m)
		switch {
		case !ok:
			r.findings = append(r.findings, model.NewFinding(a.Origin, model.CodeNotSupported,
				"driver native does not support a match of the policy, which allows no request by it"))
		case match == nil:
			return []any{client}
		default:
			matches = append(matches, match)
		}
	}
	if len(matches) == 0 {
		return nil
	}
	return []any{all(client, anyOf(matches...))}
}
