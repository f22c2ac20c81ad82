package observe

import (
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// without returns what a view means to a sidecar that does not do what a feature says: the view without it. It reports
// false for features that no decision about a request depends on.
func without(f model.Feature, v *model.View) (*model.View, bool) {
	out := copyView(v)
	kind, of, _ := strings.Cut(string(f), ".")
	switch kind {
	case "route":
		return out, editRoutes(out, of)
	case "listener":
		return out, editListeners(out, of)
	case "destination", "discovery":
		return out, editDestinations(out, f)
	case "egress":
		return out, editEgress(out, of)
	case "gateway":
		out.Workload.TrustedHops = 0
		return out, true
	case "accessLog":
		out.Workload.AccessLog, out.AccessLog = nil, nil
		return out, true
	case "panicThreshold":
		for i := range out.Destinations {
			out.Destinations[i].PanicThreshold = 0
		}
		return out, true
	case "tls":
		return out, editSecrets(out, model.SecretProvider(strings.TrimPrefix(of, "secret.")))
	case "authorization":
		if of == "ingress" {
			out.AuthorizationPolicies = slices.DeleteFunc(out.AuthorizationPolicies, func(a model.AuthorizationPolicy) bool {
				return a.Ingress != nil
			})
		} else {
			out.Workload.Authorize = false
		}
		return out, true
	}
	return out, false
}

// copyView copies what the functions of this file change.
func copyView(v *model.View) *model.View {
	out := *v
	out.Inbound, out.Outbound = slices.Clone(v.Inbound), slices.Clone(v.Outbound)
	out.Destinations, out.AuthorizationPolicies = slices.Clone(v.Destinations), slices.Clone(v.AuthorizationPolicies)
	for i := range out.Inbound {
		out.Inbound[i].Routes = copyRoutes(out.Inbound[i].Routes)
	}
	for i := range out.Outbound {
		out.Outbound[i].Bindings = slices.Clone(out.Outbound[i].Bindings)
		for j := range out.Outbound[i].Bindings {
			out.Outbound[i].Bindings[j].Routes = copyRoutes(out.Outbound[i].Bindings[j].Routes)
		}
	}
	return &out
}

func copyRoutes(all []model.Route) []model.Route {
	out := slices.Clone(all)
	for i := range out {
		out[i].Match.Headers, out[i].Match.Query = slices.Clone(out[i].Match.Headers), slices.Clone(out[i].Match.Query)
		out[i].Action.Retry.Conditions = slices.Clone(out[i].Action.Retry.Conditions)
	}
	return out
}

func eachRoute(v *model.View, edit func(*model.Route)) {
	for i := range v.Inbound {
		for j := range v.Inbound[i].Routes {
			edit(&v.Inbound[i].Routes[j])
		}
	}
	for i := range v.Outbound {
		for j := range v.Outbound[i].Bindings {
			for k := range v.Outbound[i].Bindings[j].Routes {
				edit(&v.Outbound[i].Bindings[j].Routes[k])
			}
		}
	}
}

// editRoutes removes a feature from all routes.
func editRoutes(v *model.View, feature string) bool {
	part, kind := feature, ""
	if at := strings.LastIndex(feature, "."); at >= 0 {
		part, kind = feature[:at], feature[at+1:]
	}
	isKind := func(f model.FieldMatch) bool { return string(f.Kind) == kind }
	edits := map[string]func(*model.Route){
		"match.header": func(r *model.Route) { r.Match.Headers = slices.DeleteFunc(r.Match.Headers, isKind) },
		"match.query":  func(r *model.Route) { r.Match.Query = slices.DeleteFunc(r.Match.Query, isKind) },
		"match.path": func(r *model.Route) {
			if string(r.Match.Path.Kind) == kind {
				r.Match.Path = model.StringMatch{}
			}
		},
		"retry": func(r *model.Route) {
			if kind == "status" {
				r.Action.Retry.StatusCodes = nil
			}
			r.Action.Retry.Conditions = slices.DeleteFunc(r.Action.Retry.Conditions, func(c model.RetryCondition) bool {
				return string(c) == kind
			})
		},
		"match.method": func(r *model.Route) { r.Match.Method = "" },
		"match.scheme": func(r *model.Route) { r.Match.Scheme = "" },
		"match.host":   func(r *model.Route) { r.Match.Hosts = nil },
		"weights": func(r *model.Route) {
			r.Action.Destinations = r.Action.Destinations[:min(1, len(r.Action.Destinations))]
		},
		"rewrite":  func(r *model.Route) { r.Action.Rewrite = nil },
		"redirect": func(r *model.Route) { r.Action.Redirect = nil },
		"timeout":  func(r *model.Route) { r.Action.Timeouts, r.Action.Retry.PerTry = model.Timeouts{}, 0 },
		"service":  func(r *model.Route) { r.Action.Service = nil },
		"clients":  func(r *model.Route) { r.Clients = nil },
	}
	edit := edits[feature]
	if edit == nil {
		edit = edits[part]
	}
	if edit == nil || kind == "backoff" || kind == "pause" {
		return false
	}
	eachRoute(v, edit)
	return true
}

// editListeners removes a feature from all listeners.
func editListeners(v *model.View, feature string) bool {
	edits := map[string]func(*model.Listener){
		"router":                func(l *model.Listener) { l.Router = "" },
		"timeout":               func(l *model.Listener) { l.Timeouts = model.Timeouts{} },
		"healthCheck":           func(l *model.Listener) { l.HealthCheck = nil },
		"circuitBreaker":        func(l *model.Listener) { l.CircuitBreaker = nil },
		"rateLimit.requests":    func(l *model.Listener) { l.RequestRates = nil },
		"rateLimit.connections": func(l *model.Listener) { l.ConnectionRate = nil },
		"tls.hosts":             func(l *model.Listener) { editTLS(l, func(t *model.ServerTLS) { t.Hosts = nil }) },
		"tls.Strict": func(l *model.Listener) {
			if l.TLS != nil && l.TLS.Mode == model.TLSStrict {
				l.TLS = nil
			}
		},
		"tls.Permissive": func(l *model.Listener) {
			editTLS(l, func(t *model.ServerTLS) { t.Mode = model.TLSStrict })
		},
	}
	edit := edits[feature]
	if edit == nil && feature != "services" && !isProtocol(feature) {
		return false
	}
	for i := range v.Inbound {
		if edit != nil {
			edit(&v.Inbound[i].Listener)
		}
	}
	v.Inbound = slices.DeleteFunc(v.Inbound, func(in model.Inbound) bool {
		return string(in.Listener.Protocol) == feature || feature == "services" && in.Listener.Router == "" && v.Gateway
	})
	return true
}

func editTLS(l *model.Listener, edit func(*model.ServerTLS)) {
	if l.TLS != nil {
		t := *l.TLS
		edit(&t)
		l.TLS = &t
	}
}

func isProtocol(name string) bool {
	all := []model.Protocol{model.HTTP, model.HTTP2, model.GRPC, model.TCP, model.UDP}
	return slices.Contains(all, model.Protocol(name))
}

// editSecrets removes the certificates of a provider: no handshake with them succeeds.
func editSecrets(v *model.View, of model.SecretProvider) bool {
	lost := func(c *model.Certificate) bool { return c != nil && c.Secret.Provider == of }
	for i := range v.Inbound {
		editTLS(&v.Inbound[i].Listener, func(t *model.ServerTLS) {
			if lost(t.Certificate) {
				t.Certificate = nil
			}
			t.Hosts = slices.DeleteFunc(slices.Clone(t.Hosts), func(h model.HostCertificate) bool {
				return lost(&h.Certificate)
			})
		})
	}
	for i := range v.Destinations {
		if d := &v.Destinations[i]; d.TLS != nil && lost(d.TLS.Certificate) {
			t := *d.TLS
			t.Certificate, d.TLS = nil, &t
		}
	}
	return true
}

// editDestinations removes a feature from all destinations: one with a protocol or a discovery that does not work has
// no endpoint.
func editDestinations(v *model.View, f model.Feature) bool {
	for i := range v.Destinations {
		d := &v.Destinations[i]
		switch {
		case f == model.DestinationFeature(d.Protocol), f == model.DiscoveryFeature(d.Discovery.Kind):
			d.Workload, d.Discovery = "", model.Discovery{Kind: model.DiscoverInstances}
		case f == "destination.tls":
			d.TLS = nil
		case f == "destination.limits":
			d.Limits = nil
		}
	}
	return f != "destination.sendTimeout"
}

// editEgress removes a feature from what is allowed outside of the mesh.
func editEgress(v *model.View, feature string) bool {
	switch feature {
	case "Allow":
		if v.Mesh.Egress == model.EgressAllow {
			v.Mesh.Egress = model.EgressDeny
		}
	case "Deny":
		if v.Mesh.Egress == model.EgressDeny {
			v.Mesh.Egress = model.EgressAllow
		}
	case "names":
		v.Mesh.EgressNames = nil
	default:
		for _, rules := range []*[]model.EgressRule{&v.Workload.EgressRules, &v.EgressRules} {
			*rules = slices.DeleteFunc(slices.Clone(*rules), func(e model.EgressRule) bool {
				kinds := map[string]bool{
					"addresses": len(e.Addresses) > 0, "serverNames": len(e.ServerNames) > 0,
					"ports": len(e.Addresses)+len(e.ServerNames) == 0,
				}
				return kinds[feature]
			})
		}
	}
	return true
}
