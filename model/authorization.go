package model

import (
	"cmp"
	"slices"
	"strings"
)

// AuthorizationPolicy allows clients, by the identity in their certificates, to call a workload with Authorize. The
// policies of a workload add up.
type AuthorizationPolicy struct {
	Key
	// Workload is the name of the protected workload.
	Workload string `json:"workload"`
	// Everyone allows every client with an identity, in place of Sources.
	Everyone bool       `json:"everyone,omitempty"`
	Sources  []Identity `json:"sources,omitempty"`
	// Ingress allows clients from outside of the mesh, in place of Sources. It is for requests only.
	Ingress *IngressClients `json:"ingress,omitempty"`
	// Streams is true if the policy allows connections to listeners that do not decode requests, and false if it allows
	// requests.
	Streams bool `json:"streams,omitempty"`
	// Ports restricts the permission to listeners; none means all.
	Ports []uint16 `json:"ports,omitempty"`
	// Matches restricts it to requests that match any of them; none means all.
	Matches []Match `json:"matches,omitempty"`
	Origin  Origin  `json:"origin,omitzero"`
}

// Compare orders policies by key, workload and kind: several of one object have the same key.
func (a AuthorizationPolicy) Compare(o AuthorizationPolicy) int {
	kind := func(streams bool) int {
		if streams {
			return 1
		}
		return 0
	}
	return firstNonZero(a.Key.Compare(o.Key), strings.Compare(a.Workload, o.Workload),
		cmp.Compare(kind(a.Streams), kind(o.Streams)))
}

// Who describes the clients that the policy allows, and what: requests or connections.
func (a *AuthorizationPolicy) Who() string {
	who := "everyone"
	switch {
	case a.Ingress != nil:
		who = a.Ingress.String()
	case !a.Everyone:
		who = identityNames(a.Sources)
	}
	return kindOf(a.Streams) + " of " + who
}

// AppliesTo reports whether the policy is about connections or requests of a listener.
func (a *AuthorizationPolicy) AppliesTo(l Listener) bool {
	return a.Streams != l.Protocol.Requests() && (len(a.Ports) == 0 || slices.Contains(a.Ports, l.Port))
}

// authorized applies the authorization policies to an inbound request. Only a certificate that the listener verifies
// identifies the client.
func (v *View) authorized(d *Decision, l Listener) bool {
	if !v.Workload.Authorize {
		return true
	}
	client := "a client without identity"
	var names []string
	validated := l.TLS != nil && l.TLS.Validation != nil && v.withoutCertificate(l, d.Request) == nil
	if validated && d.Request.TLS != nil && len(d.Request.TLS.Names) > 0 {
		names = d.Request.TLS.Names
		client = names[0]
	}
	for _, a := range v.AuthorizationPolicies {
		named := a.includes(d.Request, names)
		if !named && (!a.Everyone || len(names) == 0) {
			continue
		}
		switch matches := func(m Match) bool { return m.Matches(d.Request) }; {
		case !named && !a.AppliesTo(l): // the policy is not about this client
		case a.Streams == l.Protocol.Requests():
			d.step(a.Origin, "the policy allows %s %s only", client, kindOf(a.Streams))
		case !a.AppliesTo(l):
			d.step(a.Origin, "the policy allows %s other ports", client)
		case len(a.Matches) > 0 && !slices.ContainsFunc(a.Matches, matches):
			d.step(a.Origin, "the policy allows %s other requests", client)
		default:
			d.step(a.Origin, "the policy allows it to %s", client)
			return true
		}
	}
	d.step(v.Workload.Origin, "no policy allows it to %s", client)
	return false
}

// includes reports whether the policy names a client with names in its certificate.
func (a *AuthorizationPolicy) includes(r Request, names []string) bool {
	named := func(n string) bool { return slices.Contains(names, n) }
	if c := a.Ingress; c != nil {
		return c.connects(r) && (len(c.Names) == 0 || slices.ContainsFunc(c.Names, named))
	}
	return slices.ContainsFunc(a.Sources, func(s Identity) bool { return named(s.String()) })
}

func kindOf(streams bool) string {
	if streams {
		return "connections without HTTP"
	}
	return "HTTP requests"
}

// AllowedStreams lists the identities that may connect to a listener that does not decode requests, as SPIFFE IDs,
// sorted. everyone is true if every client with an identity may.
func (v *View) AllowedStreams(l Listener) (ids []string, everyone bool) {
	for _, a := range v.AuthorizationPolicies {
		if !a.AppliesTo(l) || !a.Streams {
			continue
		}
		everyone = everyone || a.Everyone
		for _, s := range a.Sources {
			ids = append(ids, s.String())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), everyone
}

// StreamListener returns a listener for streams that completes handshakes of the allowed clients only: the greeting of
// a server that sends first reaches no other client. It reports false if it allows none.
func (v *View) StreamListener(l Listener) (Listener, bool) {
	if !v.Workload.Authorize || l.Protocol.Requests() {
		return l, true
	}
	ids, everyone := v.AllowedStreams(l)
	if l.TLS == nil || l.TLS.Validation == nil || len(ids) == 0 && !everyone {
		return l, false
	}
	tls, validation := *l.TLS, *l.TLS.Validation
	if !everyone {
		validation.Names = slices.DeleteFunc(ids, func(id string) bool {
			return len(l.TLS.Validation.Names) > 0 && !slices.Contains(l.TLS.Validation.Names, id)
		})
	}
	tls.Mode, tls.Validation = TLSStrict, &validation // a client without TLS has no identity
	l.TLS = &tls
	return l, len(validation.Names) > 0 || everyone
}
