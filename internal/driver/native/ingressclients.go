package native

import (
	"net/netip"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
)

// ingressPredicate matches the connections of clients from outside of the mesh.
func ingressPredicate(c *model.IngressClients) any {
	encrypted := object{"op": "undefined", "path": "/TLS"}
	if c.TLS {
		encrypted["op"] = "defined"
	}
	parts := []any{encrypted}
	if len(c.Names) > 0 {
		var names []any
		for _, n := range c.Names {
			names = append(names, n)
		}
		parts = append(parts, anyOf(op("intersects", peerURIs, names), op("intersects", peerNames, names)))
	}
	if len(c.Addresses) > 0 {
		parts = append(parts, op("within", "/IP/src_addr", anyTexts(c.Addresses)))
	}
	if len(c.ServerNames) > 0 {
		parts = append(parts, asksFor(c.ServerNames))
	}
	return all(parts...)
}

// asksFor matches connections whose clients ask for one of some server names.
func asksFor(serverNames []string) any {
	var names []any
	for _, name := range serverNames {
		one := op("test", askedName, name)
		if suffix, is := strings.CutPrefix(name, "*"); is {
			one = op("ends", askedName, suffix)
		}
		one["ignore_case"] = true
		names = append(names, one)
	}
	return anyOf(names...)
}

// anyTexts is rangeTexts for predicates.
func anyTexts(ranges []netip.Prefix) []any {
	var out []any
	for _, text := range rangeTexts(ranges) {
		out = append(out, text)
	}
	return out
}

func rangeTexts(ranges []netip.Prefix) []string {
	var out []string
	for _, p := range ranges {
		out = append(out, p.String())
	}
	return out
}

// sidecarTLS returns the TLS of a listener of a sidecar, with exceptions for clients from outside of the mesh. It
// reports false for a listener that accepts no connection.
func (r *renderer) sidecarTLS(l model.Listener) (tls *config.ListenerTLS, ok bool) {
	tls, ok = serverTLS(l.TLS)
	if l.TLS == nil || !r.view.Workload.Authorize {
		return tls, ok
	}
	for i := range r.view.AuthorizationPolicies {
		a := &r.view.AuthorizationPolicies[i]
		if a.Ingress == nil || !a.AppliesTo(l) || len(a.Ingress.Names) > 0 || a.Ingress.TLS && !ok {
			continue
		}
		if !ok {
			tls, ok = &config.ListenerTLS{}, true // clients with TLS are refused
		}
		tls.Exceptions = append(tls.Exceptions, config.TLSException{
			Plain: !a.Ingress.TLS, Addresses: rangeTexts(a.Ingress.Addresses), ServerNames: a.Ingress.ServerNames,
		})
	}
	return tls, ok
}
