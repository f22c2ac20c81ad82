package model

import (
	"fmt"
	"slices"
	"strings"
)

// Protects reports whether traffic is protected less than asked for without the feature. See View.Protect.
func (f Feature) Protects() bool {
	return f == "authorization" || strings.HasPrefix(string(f), "listener.tls.") || f.ProtectsClients()
}

// ProtectsClients reports whether an outbound view needs the feature for its protection.
func (f Feature) ProtectsClients() bool {
	return f == destinationTLS || f == routeClients || strings.HasPrefix(string(f), "tls.secret.")
}

const destinationTLS Feature = "destination.tls"

// Protect returns the view for a driver with the given features, which serves nothing with less protection than asked
// for, and findings about the differences. A listener without the TLS or the authorization that it requires is omitted,
// so that its connections are closed. A destination whose client policy requires TLS has no endpoints, so that requests
// get status 503. What only permits TLS is served without TLS. A route that restricts its clients has no destination:
// requests get status 404.
func (v *View) Protect(driver string, supports map[Feature]bool) (View, []Finding) {
	out := *v
	out.Inbound, out.Workload.Listeners = nil, nil
	var findings []Finding
	for _, in := range v.Inbound {
		if v.Workload.Authorize && !supports["authorization"] {
			findings = append(findings, unprotected(v.Workload.Origin, Error, driver, "authorization",
				fmt.Sprintf("the listener on port %d accepts no connections", in.Listener.Port)))
			continue
		}
		if tls := in.Listener.TLS; tls != nil {
			lacking, ok := lackingFeature(tls.needs(), supports)
			switch {
			case !ok:
			case tls.Mode == TLSStrict:
				findings = append(findings, unprotected(tls.Origin, Error, driver, lacking, fmt.Sprintf(
					"the listener on port %d requires TLS, and accepts no connections", in.Listener.Port)))
				continue
			default:
				findings = append(findings, unprotected(tls.Origin, Warning, driver, lacking, fmt.Sprintf(
					"the listener on port %d accepts connections without TLS only", in.Listener.Port)))
				in.Listener.TLS = nil
			}
		}
		out.Inbound = append(out.Inbound, in)
		out.Workload.Listeners = append(out.Workload.Listeners, in.Listener)
	}
	outbound, more := v.OutboundView.Protect(driver, supports)
	out.OutboundView = outbound
	for i := range more {
		if more[i].Object == (ObjectRef{}) {
			more[i].Object = v.Workload.Origin.Object()
		}
	}
	return out, SortFindings(append(findings, more...))
}

// Protect is View.Protect for an outbound view. Findings without an object are those of the workload.
func (v *OutboundView) Protect(driver string, supports map[Feature]bool) (OutboundView, []Finding) {
	out := *v
	type group struct {
		lacking  Feature
		required bool
	}
	affected := map[group][]string{}
	for i, d := range v.Destinations {
		if lacking, ok := lackingFeature(d.TLS.needs(), supports); ok {
			if len(affected) == 0 {
				out.Destinations = slices.Clone(v.Destinations)
			}
			g := group{lacking, d.TLS.Required}
			affected[g] = append(affected[g], d.Name)
			out.Destinations[i].unprotect()
		}
	}
	var findings []Finding
	if !supports[routeClients] {
		findings = out.protectRoutes(driver)
	}
	for g, names := range affected {
		severity, effect := Warning, "connections to %s use no TLS"
		if g.required {
			severity, effect = Error, "the client policy for %s requires TLS, and requests get status 503"
		}
		list := names[0]
		if others := len(names) - 1; others > 0 {
			list += fmt.Sprintf(" and %d others", others)
		}
		findings = append(findings, unprotected(Origin{}, severity, driver, g.lacking, fmt.Sprintf(effect, list)))
	}
	return out, SortFindings(findings)
}

// Protect is View.Protect for a destination with its endpoints.
func (r ResolvedDestination) Protect(supports map[Feature]bool) ResolvedDestination {
	if _, lacks := lackingFeature(r.Destination.TLS.needs(), supports); lacks {
		if r.Destination.TLS.Required {
			r.Endpoints = nil
		}
		r.Destination.unprotect()
	}
	return r
}

// unprotect removes the TLS of a destination. If it is required, connections cannot find an endpoint any more.
func (d *Destination) unprotect() {
	if d.TLS.Required {
		d.Discovery = Discovery{Kind: DiscoverInstances}
	}
	d.TLS = nil
}

func unprotected(at Origin, severity Severity, driver string, lacking Feature, effect string) Finding {
	f := NewFinding(at, CodeNotSupported, fmt.Sprintf("driver %s does not support %s: %s", driver, lacking, effect))
	f.Severity = severity
	return f
}

// lackingFeature returns the first feature that is not supported. It reports false if all are.
func lackingFeature(needs []Feature, supports map[Feature]bool) (Feature, bool) {
	i := slices.IndexFunc(needs, func(f Feature) bool { return !supports[f] })
	if i < 0 {
		return "", false
	}
	return needs[i], true
}

// needs lists the features that the listener requires.
func (s *ServerTLS) needs() []Feature {
	out := append([]Feature{"listener.tls." + Feature(s.Mode)}, secretFeatures(s.Certificate, s.Validation)...)
	if len(s.Hosts) > 0 {
		out = append(out, "listener.tls.hosts")
	}
	for i := range s.Hosts {
		out = append(out, secretFeatures(&s.Hosts[i].Certificate, nil)...)
	}
	return out
}

// needs lists the features that connections require; none without TLS.
func (c *ClientTLS) needs() []Feature {
	if c == nil {
		return nil
	}
	return append([]Feature{destinationTLS}, secretFeatures(c.Certificate, c.Validation)...)
}

// secretFeatures lists the features of the providers of a certificate and of a validation. Each may be nil.
func secretFeatures(c *Certificate, v *Validation) []Feature {
	var out []Feature
	if c != nil && c.Secret.Provider != "" {
		out = append(out, SecretFeature(c.Secret.Provider))
	}
	if v != nil && v.TrustSecret.Provider != "" {
		out = append(out, SecretFeature(v.TrustSecret.Provider))
	}
	return out
}
