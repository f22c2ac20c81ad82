package envoy

import (
	"net/netip"
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/model"
)

// ingressOf lists the clients from outside of the mesh that may send requests to a listener with TLS.
func (r *renderer) ingressOf(l model.Listener) []*model.IngressClients {
	var out []*model.IngressClients
	for i := range r.view.AuthorizationPolicies {
		a := &r.view.AuthorizationPolicies[i]
		if r.view.Workload.Authorize && a.Ingress != nil && a.AppliesTo(l) && l.TLS != nil {
			out = append(out, a.Ingress)
		}
	}
	return out
}

// ingressRanges are the addresses of clients; all means every address.
type ingressRanges struct {
	all    bool
	ranges []netip.Prefix
}

func (i *ingressRanges) add(c *model.IngressClients) {
	i.all = i.all || len(c.Addresses) == 0
	i.ranges = append(i.ranges, c.Addresses...)
}

// match restricts a filter chain to the addresses. Envoy refuses a range twice.
func (i *ingressRanges) match(m *listenerv3.FilterChainMatch) {
	if i.all {
		return
	}
	m.SourcePrefixRanges = cidrRanges(i.ranges)
}

// withIngress returns the filter chains of a listener that requires TLS with a certificate, and those for clients that
// need less: without TLS, and with TLS and without a certificate. Envoy selects a chain by server name, TLS, and
// address of the client, in this order, and does not go back. The first is the same with and without clients that need
// less, so that its connections do not drain: in a workload with authorization, it is always for TLS only.
func (r *renderer) withIngress(l model.Listener, plain, secured *listenerv3.FilterChain) []*listenerv3.FilterChain {
	var unencrypted *ingressRanges
	byName := map[string]*ingressRanges{}
	var names []string
	for _, c := range r.ingressOf(l) {
		switch {
		case !c.TLS:
			if unencrypted == nil {
				unencrypted = &ingressRanges{}
			}
			unencrypted.add(c)
		case len(c.Names) == 0:
			serverNames := c.ServerNames
			if len(serverNames) == 0 {
				serverNames = []string{""}
			}
			for _, n := range serverNames {
				if byName[n] == nil {
					byName[n], names = &ingressRanges{}, append(names, n)
				}
				byName[n].add(c)
			}
		}
	}
	out := []*listenerv3.FilterChain{secured}
	if r.view.Workload.Authorize {
		secured.FilterChainMatch.TransportProtocol = "tls"
	}
	if unencrypted != nil {
		plain.Name += "_ingress"
		plain.FilterChainMatch.TransportProtocol = "raw_buffer"
		unencrypted.match(plain.FilterChainMatch)
		out = append(out, plain)
	}
	open := l
	tls := *l.TLS
	tls.Validation, open.TLS = nil, &tls
	slices.Sort(names)
	for _, n := range names {
		chain := proto.CloneOf(secured)
		chain.Name += "_ingress_" + n
		if l.TLS.Certificate != nil {
			chain.TransportSocket, _ = r.serverSocket(open, *l.TLS.Certificate, l.TLS.Origin)
		}
		if n != "" {
			chain.FilterChainMatch.ServerNames = []string{n}
		}
		if byName[n].all && n == "" {
			out[0] = chain // for every client
			continue
		}
		if n != "" && !byName[n].all {
			others := proto.CloneOf(secured)
			others.Name += "_" + n
			others.FilterChainMatch.ServerNames = []string{n}
			out = append(out, others)
		}
		byName[n].match(chain.FilterChainMatch)
		out = append(out, chain)
	}
	return out
}

// ingressPrincipal matches the connections of clients from outside of the mesh, apart from server names.
func ingressPrincipal(c *model.IngressClients) *rbacconfigv3.Principal {
	encrypted := &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_Authenticated_{
		Authenticated: &rbacconfigv3.Principal_Authenticated{},
	}}
	if !c.TLS {
		encrypted = &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_NotId{NotId: encrypted}}
	}
	all := []*rbacconfigv3.Principal{encrypted}
	if len(c.Names) > 0 {
		all[0] = anyOf(principalsNamed(c.Names))
	}
	if len(c.Addresses) > 0 {
		var addresses []*rbacconfigv3.Principal
		for _, p := range c.Addresses {
			addresses = append(addresses, &rbacconfigv3.Principal{
				Identifier: &rbacconfigv3.Principal_DirectRemoteIp{DirectRemoteIp: cidrRange(p)},
			})
		}
		all = append(all, anyOf(addresses))
	}
	return &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_AndIds{AndIds: &rbacconfigv3.Principal_Set{Ids: all}}}
}

func anyOf(all []*rbacconfigv3.Principal) *rbacconfigv3.Principal {
	return &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_OrIds{OrIds: &rbacconfigv3.Principal_Set{Ids: all}}}
}

// principalsNamed match clients with a name in their certificates.
func principalsNamed(names []string) []*rbacconfigv3.Principal {
	var out []*rbacconfigv3.Principal
	for _, n := range names {
		out = append(out, &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_Authenticated_{
			Authenticated: &rbacconfigv3.Principal_Authenticated{
				PrincipalName: stringMatcher(model.FieldMatch{Kind: model.Exact, Value: n}),
			},
		}})
	}
	return out
}

// withServerNames restricts permissions to connections that ask for a server name.
func withServerNames(all []*rbacconfigv3.Permission, names []string) []*rbacconfigv3.Permission {
	if len(names) == 0 {
		return all
	}
	asked := &rbacconfigv3.Permission_Set{}
	for _, n := range names {
		f := model.FieldMatch{Kind: model.Exact, Value: strings.ToLower(n)}
		if suffix, is := strings.CutPrefix(f.Value, "*"); is {
			f = model.FieldMatch{Kind: model.Suffix, Value: suffix}
		}
		asked.Rules = append(asked.Rules, &rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_RequestedServerName{
			RequestedServerName: stringMatcher(f),
		}})
	}
	for i, p := range all {
		all[i] = &rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_AndRules{AndRules: &rbacconfigv3.Permission_Set{
			Rules: []*rbacconfigv3.Permission{p, {Rule: &rbacconfigv3.Permission_OrRules{OrRules: asked}}},
		}}}
	}
	return all
}
