package model

import (
	"net/netip"
	"slices"
	"strings"
)

// routeClients is the feature of routes that serve some clients only.
const routeClients Feature = "route.clients"

// ClientRanges are the addresses of clients that a route serves.
type ClientRanges struct {
	// Allowed are ranges of addresses; none means all addresses.
	Allowed []netip.Prefix `json:"allowed,omitempty"`
	// Denied are ranges that are not served, even if they are allowed.
	Denied []netip.Prefix `json:"denied,omitempty"`
}

// Include reports whether the route serves an address. A nil ClientRanges serves all.
func (c *ClientRanges) Include(address netip.Addr) bool {
	if c == nil {
		return true
	}
	has := func(p netip.Prefix) bool { return p.Contains(address) }
	return (len(c.Allowed) == 0 || slices.ContainsFunc(c.Allowed, has)) && !slices.ContainsFunc(c.Denied, has)
}

// String lists the ranges.
func (c *ClientRanges) String() string {
	list := func(all []netip.Prefix) string {
		var out []string
		for _, p := range all {
			out = append(out, p.String())
		}
		return strings.Join(out, ", ")
	}
	text := "all addresses"
	if len(c.Allowed) > 0 {
		text = list(c.Allowed)
	}
	if len(c.Denied) > 0 {
		text += ", not " + list(c.Denied)
	}
	return text
}

// clientOf returns the address of the client behind trusted proxies: that of the peer without them, or if the proxies
// have not set X-Forwarded-For. It is invalid if it is not known.
func (r Request) clientOf(trustedHops uint32) netip.Addr {
	if trustedHops == 0 {
		return r.Client
	}
	text, _ := r.header("x-forwarded-for")
	all := strings.Split(text, ",")
	if at := len(all) - int(trustedHops); at >= 0 {
		if address, err := netip.ParseAddr(strings.TrimSpace(all[at])); err == nil {
			return address
		}
	}
	return r.Client
}

// admits reports whether a route serves the client of a request. The client of a request may be unknown: then the steps
// tell which clients are served.
func (d *Decision) admits(r Route) bool {
	switch {
	case r.Clients == nil:
		return true
	case !d.Request.Client.IsValid():
		d.step(r.Origin, "the route serves clients from %s; others get status 403", r.Clients)
		return true
	case r.Clients.Include(d.Request.Client):
		d.step(r.Origin, "the route serves clients from %s", r.Clients)
		return true
	}
	d.step(r.Origin, "the route does not serve %s: it serves clients from %s", d.Request.Client, r.Clients)
	return false
}

// protectRoutes returns routes without the actions of those that restrict their clients, and their origins. The result
// shares the routes if there are none.
func protectRoutes(routes []Route) ([]Route, []Origin) {
	var at []Origin
	out := routes
	for i, r := range routes {
		if r.Clients == nil {
			continue
		}
		if at == nil {
			out = slices.Clone(routes)
		}
		out[i].Clients, out[i].Action = nil, Action{}
		at = append(at, r.Origin)
	}
	return out, at
}

// ProtectRoutes returns a binding whose routes serve nothing with less protection than asked for, see View.Protect.
func (b Binding) ProtectRoutes(supports map[Feature]bool) Binding {
	if !supports[routeClients] {
		b.Routes, _ = protectRoutes(b.Routes)
	}
	return b
}

// protectRoutes is ProtectRoutes for all bindings, with findings.
func (v *OutboundView) protectRoutes(driver string) (findings []Finding) {
	ports := v.Outbound
	v.Outbound = slices.Clone(ports)
	for i, port := range ports {
		v.Outbound[i].Bindings = slices.Clone(port.Bindings)
		for j := range port.Bindings {
			routes, at := protectRoutes(port.Bindings[j].Routes)
			v.Outbound[i].Bindings[j].Routes = routes
			for _, o := range at {
				findings = append(findings, unprotected(o, Error, driver, routeClients,
					"the route serves clients with some addresses only, and requests get status 404"))
			}
		}
	}
	return findings
}
