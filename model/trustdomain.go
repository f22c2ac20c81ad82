package model

import (
	"slices"
	"strings"
)

// The root of a mesh can be replaced by one of another trust domain. Meanwhile, certificates of both domains are valid,
// and an account has an identity in each: Mesh.TrustDomain is the one that the model uses, TrustDomainAliases are the
// others. Names that differ in these domains only are the same identity.

// ValidTrustDomain reports whether a name is that of a trust domain (SPIFFE-ID, section 2.1): 1 to 255 bytes.
func ValidTrustDomain(name string) bool {
	return name != "" && len(name) <= 255 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// aliasesOf returns a name of a certificate in the other trust domains of the mesh; nil for a name in none of them.
func (m *Mesh) aliasesOf(name string) []string {
	rest, is := strings.CutPrefix(name, spiffeScheme)
	domain, path, _ := strings.Cut(rest, "/")
	if !is || path == "" || domain != m.TrustDomain && !slices.Contains(m.TrustDomainAliases, domain) {
		return nil
	}
	var out []string
	for _, other := range append([]string{m.TrustDomain}, m.TrustDomainAliases...) {
		if other != domain {
			out = append(out, spiffeScheme+other+"/"+path)
		}
	}
	return out
}

// Aliases returns the names of a list from InAllTrustDomains that are the same identity as another one of the list, in
// TrustDomain, and the rest. The rest does not change when aliases come and go.
func (m *Mesh) Aliases(names []string) (aliases, rest []string) {
	for _, name := range names {
		id, is := ParseIdentity(name)
		own := Identity{TrustDomain: m.TrustDomain, Namespace: id.Namespace, Account: id.Account}.String()
		if is && slices.Contains(m.TrustDomainAliases, id.TrustDomain) && slices.Contains(names, own) {
			aliases = append(aliases, name)
		} else {
			rest = append(rest, name)
		}
	}
	return aliases, rest
}

// inAllDomains returns names with those that are the same identity, sorted.
func (m *Mesh) inAllDomains(names []string) []string {
	out := slices.Clone(names)
	for _, name := range names {
		out = append(out, m.aliasesOf(name)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// issuedBy returns a handshake with the authority of the mesh in place of that of a trust domain that is an alias.
func (m *Mesh) issuedBy(h *Handshake) *Handshake {
	if h == nil {
		return nil
	}
	domain, is := strings.CutPrefix(h.Authority, spiffeScheme)
	if !is || !slices.Contains(m.TrustDomainAliases, domain) {
		return h
	}
	out := *h
	out.Authority = spiffeScheme + m.TrustDomain
	return &out
}

// InAllTrustDomains returns the view with each name of a client in all trust domains of the mesh: what a sidecar
// compares with certificates. Without aliases, it is the view.
func (v *View) InAllTrustDomains() *View {
	m := &v.Mesh
	if len(m.TrustDomainAliases) == 0 {
		return v
	}
	out := *v
	out.Inbound, out.Workload.Listeners = slices.Clone(v.Inbound), nil
	for i := range out.Inbound {
		l := &out.Inbound[i].Listener
		if l.TLS != nil {
			tls := *l.TLS
			tls.Validation = tls.Validation.inAllDomains(m)
			l.TLS = &tls
		}
		out.Workload.Listeners = append(out.Workload.Listeners, *l)
	}
	out.AuthorizationPolicies = slices.Clone(v.AuthorizationPolicies)
	for i := range out.AuthorizationPolicies {
		out.AuthorizationPolicies[i].inAllDomains(m)
	}
	out.OutboundView = *v.OutboundView.inAllDomains(m)
	return &out
}

// InAllTrustDomains is View.InAllTrustDomains for an outbound view: servers have their names in all trust domains.
func (v *OutboundView) InAllTrustDomains(m Mesh) *OutboundView {
	if len(m.TrustDomainAliases) == 0 {
		return v
	}
	return v.inAllDomains(&m)
}

func (v *OutboundView) inAllDomains(m *Mesh) *OutboundView {
	out := *v
	out.Destinations = slices.Clone(v.Destinations)
	for i := range out.Destinations {
		out.Destinations[i].inAllDomains(m)
	}
	return &out
}

// InAllTrustDomains is View.InAllTrustDomains for a destination.
func (r ResolvedDestination) InAllTrustDomains() ResolvedDestination {
	if len(r.Mesh.TrustDomainAliases) > 0 {
		r.Destination.inAllDomains(&r.Mesh)
	}
	return r
}

func (d *Destination) inAllDomains(m *Mesh) {
	if d.TLS != nil {
		tls := *d.TLS
		tls.Validation = tls.Validation.inAllDomains(m)
		d.TLS = &tls
	}
}

func (a *AuthorizationPolicy) inAllDomains(m *Mesh) {
	sources := slices.Clone(a.Sources)
	for _, s := range a.Sources {
		for _, alias := range m.aliasesOf(s.String()) {
			if other, is := ParseIdentity(alias); is {
				sources = append(sources, other)
			}
		}
	}
	slices.SortFunc(sources, func(x, y Identity) int { return strings.Compare(x.String(), y.String()) })
	a.Sources = slices.Compact(sources)
	if a.Ingress != nil {
		ingress := *a.Ingress
		ingress.Names = m.inAllDomains(ingress.Names)
		a.Ingress = &ingress
	}
}

func (v *Validation) inAllDomains(m *Mesh) *Validation {
	if v == nil || len(v.Names) == 0 {
		return v
	}
	out := *v
	out.Names = m.inAllDomains(v.Names)
	return &out
}
