package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// ingressAuthorization is the feature of policies that allow clients from outside of the mesh.
const ingressAuthorization Feature = "authorization.ingress"

// IngressClients are clients from outside of the mesh, such as ingress gateways. A client must meet each condition.
type IngressClients struct {
	// TLS is true for clients that use TLS, and false for clients that do not.
	TLS bool `json:"tls,omitempty"`
	// Addresses are ranges of the addresses from which they connect; none means all.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	// ServerNames are the server names of their TLS handshakes ("*.domain" is a suffix); none means all.
	ServerNames []string `json:"serverNames,omitempty"`
	// Names are names in certificates, which the listener validates: the client needs one of them. Without Names, it
	// needs no certificate, and the listener asks for none.
	Names []string `json:"names,omitempty"`
}

// connects reports whether the clients may open a connection, whatever their certificates are.
func (c *IngressClients) connects(r Request) bool {
	from := func(p netip.Prefix) bool { return p.Contains(r.Client) }
	asked := func(name string) bool { return hostMatches(name, r.ServerName) }
	return c.TLS == (r.TLS != nil) && (len(c.Addresses) == 0 || slices.ContainsFunc(c.Addresses, from)) &&
		(len(c.ServerNames) == 0 || slices.ContainsFunc(c.ServerNames, asked))
}

// String describes the clients.
func (c *IngressClients) String() string {
	text := "clients without TLS"
	switch {
	case len(c.Names) > 0:
		text = "clients with a certificate for " + strings.Join(c.Names, " or ")
	case c.TLS:
		text = "clients with TLS"
	}
	if len(c.ServerNames) > 0 {
		text += " that ask for " + strings.Join(c.ServerNames, " or ")
	}
	if len(c.Addresses) > 0 {
		text += " from " + (&ClientRanges{Allowed: c.Addresses}).String()
	}
	return text
}

// withoutCertificate returns the policy with which a listener accepts a connection although its TLS requires more: from
// clients without TLS, or with TLS and without a certificate. It is nil if there is none.
func (v *View) withoutCertificate(l Listener, r Request) *AuthorizationPolicy {
	if l.TLS == nil || !v.Workload.Authorize {
		return nil
	}
	for i := range v.AuthorizationPolicies {
		a := &v.AuthorizationPolicies[i]
		if c := a.Ingress; c != nil && a.AppliesTo(l) && len(c.Names) == 0 && c.connects(r) &&
			(!c.TLS || l.TLS.CertificateOf(r.ServerName) != nil) {
			return a
		}
	}
	return nil
}

// accepts reports whether a listener accepts the connection.
func (v *View) accepts(d *Decision, l Listener) bool {
	if a := v.withoutCertificate(l, d.Request); a != nil {
		d.step(a.Origin, "the listener accepts %s", a.Ingress)
		return true
	}
	if d.Request.TLS == nil && l.TLS != nil {
		for _, a := range v.AuthorizationPolicies {
			if c := a.Ingress; c != nil && a.AppliesTo(l) && !c.TLS {
				d.step(a.Origin, "the listener accepts %s, and the client is %s", c, addressText(d.Request.Client))
			}
		}
	}
	return d.handshake(l)
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return "not known"
	}
	return fmt.Sprintf("at %s", a)
}
