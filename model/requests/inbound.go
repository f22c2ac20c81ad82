package requests

import (
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// Inbound returns the requests to a workload that its views tell apart, by listener and by the certificate of the
// client.
func Inbound(views ...*model.View) Set {
	var s Set
	var done []uint16
	for _, v := range views {
		for _, in := range v.Inbound {
			if port := in.Listener.Port; port != 0 && !slices.Contains(done, port) {
				done = append(done, port)
				s.inbound(port, views)
			}
		}
	}
	return s
}

// inbound adds the requests to a port: all of them from the first client, and from the others.
func (s *Set) inbound(port uint16, views []*model.View) {
	var protocols []model.Protocol
	var routes []model.Route
	var policies []model.Match
	hosts := []string{undeclaredHost}
	clients := []client{{}}
	for _, v := range views {
		i := slices.IndexFunc(v.Inbound, func(in model.Inbound) bool { return in.Listener.Port == port })
		if i < 0 {
			continue
		}
		in := v.Inbound[i]
		if !slices.Contains(protocols, in.Listener.Protocol) {
			protocols = append(protocols, in.Listener.Protocol)
		}
		next, paths := targetRoutes(v, in.Routes)
		routes, policies = append(append(routes, in.Routes...), next...), append(policies, paths...)
		hosts = append(hosts, matchHosts(matchesOf(in.Routes))...)
		if v.Workload.Role == model.RoleGateway && in.Listener.Router == "" {
			more, names := servedHosts(v, port)
			routes, hosts = append(routes, more...), append(hosts, names...)
		}
		clients = append(clients, clientsOf(v, in.Listener)...)
		for _, a := range v.AuthorizationPolicies {
			if a.AppliesTo(in.Listener) {
				policies, hosts = append(policies, a.Matches...), append(hosts, matchHosts(a.Matches)...)
			}
		}
	}
	hosts, clients = distinct(hosts, func(string) bool { return true }), distinctClients(clients)
	limit := maxProduct / (len(hosts) * len(clients))
	for _, p := range protocols {
		for _, host := range hosts {
			for _, c := range clients {
				start := draft{Request: model.Request{Port: port, Protocol: p, Host: host}}
				c.connect(&start.Request)
				if p.Requests() {
					start.Scheme = "http"
					s.add(start, routes, policies, limit)
				} else {
					s.Requests = append(s.Requests, start.Request)
				}
			}
		}
	}
}

func matchesOf(routes []model.Route) []model.Match {
	var out []model.Match
	for _, r := range routes {
		out = append(out, r.Match)
	}
	return out
}

// matchHosts returns hosts that matches are about.
func matchHosts(all []model.Match) []string {
	var out []string
	for _, m := range all {
		for _, h := range m.Hosts {
			out = append(out, within(h))
		}
		for _, f := range m.Headers {
			if f.IsHost() {
				out = append(out, distinct(fieldValues(f), fieldText)...)
			}
		}
	}
	return out
}

// targetRoutes returns the routes of the services that routes of a gateway target, which apply next, and the paths that
// satisfy them after the gateway has replaced a prefix.
func targetRoutes(v *model.View, routes []model.Route) (next []model.Route, before []model.Match) {
	for _, r := range routes {
		if r.Action.Service == nil {
			continue
		}
		for _, o := range v.Outbound {
			for _, b := range o.Bindings {
				if b.Service != r.Action.Service.Service {
					continue
				}
				next = append(next, b.Routes...)
				for _, to := range b.Routes {
					before = append(before, replaced(r, to.Match.Path)...)
				}
			}
		}
	}
	return next, before
}

// replaced returns the paths that become paths of a condition when a route replaces its prefix.
func replaced(r model.Route, condition model.StringMatch) []model.Match {
	if r.Action.Rewrite == nil || r.Action.Rewrite.PathPrefix == nil {
		return nil
	}
	var out []model.Match
	for _, p := range paths(condition) {
		if rest, is := strings.CutPrefix(p, *r.Action.Rewrite.PathPrefix); is {
			path := r.Match.Path.Value + rest
			out = append(out, model.Match{Path: model.StringMatch{Kind: model.Exact, Value: path}})
		}
	}
	return out
}

// servedHosts returns the routes and hosts of the services that a gateway serves by their host names on a port.
func servedHosts(v *model.View, port uint16) (routes []model.Route, hosts []string) {
	for _, o := range v.Outbound {
		if o.Port != port {
			continue
		}
		for _, b := range o.Bindings {
			routes = append(routes, b.Routes...)
			for _, h := range b.Hosts {
				if h != model.AnyHost { // undeclaredHost is one
					hosts = append(hosts, within(h))
				}
			}
		}
	}
	return routes, hosts
}

// client is how a client connects.
type client struct {
	tls       bool
	authority string
	name      string
	address   netip.Addr
	asksFor   string
}

func (c client) connect(r *model.Request) {
	r.Client = c.address
	if !c.tls {
		return
	}
	r.ServerName, r.TLS = c.asksFor, &model.Handshake{Authority: c.authority}
	if c.asksFor == "" && !strings.HasPrefix(r.Host, other) {
		r.ServerName = r.Host
	}
	if c.name != "" {
		r.TLS.Names = []string{c.name}
	}
}

func distinctClients(all []client) []client {
	var out []client
	for _, c := range all {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// clientsOf returns clients that a listener tells apart: without TLS, without a certificate, and with the certificates
// that it or a policy names, and one that none names.
func clientsOf(v *model.View, l model.Listener) []client {
	out := []client{{tls: true}}
	if l.TLS == nil {
		return out
	}
	trust := ""
	if l.TLS.Validation != nil {
		trust = l.TLS.Validation.Trust()
		names := append(slices.Clone(l.TLS.Validation.Names), unnamed(trust))
		for _, name := range names {
			out = append(out, withCertificate(trust, name))
		}
		out = append(out, withCertificate("spiffe://"+undeclaredHost, unnamed("spiffe://"+undeclaredHost)))
	}
	for _, a := range v.AuthorizationPolicies {
		for _, id := range a.Sources {
			out = append(out, withCertificate(trust, id.String()))
		}
		if a.Ingress != nil {
			out = append(out, ingressClients(a.Ingress, trust)...)
		}
	}
	for _, h := range l.TLS.Hosts {
		for _, name := range h.Hosts {
			out = append(out, client{tls: true, asksFor: name})
		}
	}
	return out
}

// withCertificate returns a client with a certificate for a name. The authority of a SPIFFE ID is that of its trust
// domain.
func withCertificate(trust, name string) client {
	c := client{tls: true, authority: trust, name: name}
	if domain, is := model.TrustDomainID(name); is {
		c.authority = domain
	}
	return c
}

// unnamed is a name in certificates of an authority that no condition names.
func unnamed(trust string) string {
	if domain, is := model.TrustDomainID(trust); is {
		return domain + "/ns/" + other + "/sa/" + other
	}
	return undeclaredHost
}

// ingressClients returns clients inside and outside of the conditions of a policy.
func ingressClients(i *model.IngressClients, trust string) []client {
	out := []client{{tls: i.TLS}}
	for _, p := range i.Addresses {
		out = append(out, client{tls: i.TLS, address: p.Masked().Addr().Next()}, client{tls: i.TLS, address: undeclaredAddress})
	}
	for _, name := range i.ServerNames {
		out = append(out, client{tls: i.TLS, asksFor: within(name)})
	}
	for _, name := range i.Names {
		out = append(out, withCertificate(trust, name))
	}
	return out
}
