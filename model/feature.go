package model

import (
	"maps"
	"slices"
	"strings"
	"unique"
)

// Feature is a capability that a mesh can require of a sidecar. Drivers declare the features that they support.
type Feature string

// Need is a feature that a view uses, with the field that requires it.
type Need struct {
	Feature Feature `json:"feature"`
	Origin  Origin  `json:"origin,omitzero"`
}

// Equal reports whether two needs are equal.
func (n Need) Equal(o Need) bool { return n.Feature == o.Feature && n.Origin.Equal(o.Origin) }

// AllFeatures lists every feature of the model: the rows of the compatibility matrix.
func AllFeatures() []Feature {
	var all []Feature
	for _, p := range []Protocol{HTTP, HTTP2, GRPC, TCP, UDP, WebSocket, Unix, JSONSocket} {
		all = append(all, ListenerFeature(p), DestinationFeature(p))
	}
	for _, p := range localProtocols {
		all = append(all, DestinationFeature(p))
	}
	for _, p := range []Protocol{HTTP, HTTP2, GRPC, TCP} {
		all = append(all, HealthCheckFeature(p))
	}
	for _, k := range []DiscoveryKind{DiscoverDNS, DiscoverDNSEndpoints, DiscoverInstances, DiscoverNone, DiscoverStatic} {
		all = append(all, DiscoveryFeature(k))
	}
	for _, k := range []MatchKind{Exact, Prefix, Suffix, Regex, Range, Present} {
		all = append(all, "route.match.header."+Feature(k), "route.match.query."+Feature(k))
		if k != Range && k != Present {
			all = append(all, "route.match.path."+Feature(k))
		}
	}
	all = append(all, "route.match.path."+Feature(PathPrefix))
	for _, c := range []RetryCondition{
		RetryConnectFailure, RetryRefusedStream, RetryReset, RetryDisconnect, RetryGRPCCanceled,
		RetryGRPCDeadlineExceeded, RetryGRPCInternal, RetryGRPCResourceExhausted, RetryGRPCUnavailable,
	} {
		all = append(all, "route.retry."+Feature(c))
	}
	all = append(all, "route.match.method", "route.match.scheme", "route.match.host", "route.match.predicate",
		"route.weights", "route.chain", "route.conversion", "route.rewrite", "route.rewrite.metadata", "route.retry.status",
		"route.retry.backoff", "route.retry.pause",
		"route.timeout", "route.service", "route.redirect", routeClients, "listener.router", "listener.services", "listener.timeout", "listener.track", "listener.endSessions", "gateway.trustedHops",
		"listener.tls.hosts", "listener.tls.Strict", "listener.tls.Permissive", "destination.tls", "destination.sendTimeout",
		SecretFeature(ProviderMesh), SecretFeature(ProviderSocket), SecretFeature(ProviderKubernetes),
		"egress.Allow", "egress.Deny", "egress.names", egressAddresses, egressServerNames, egressPorts,
		connectionRate, requestRate, requestsPerConnection, destinationLimits,
		"balance.ConsistentHash", instanceWeights, instanceAddresses, "authorization", ingressAuthorization, "accessLog", "accessLog.text", "accessLog.json",
		"outlierDetection", "panicThreshold", "listener.circuitBreaker", "listener.healthCheck")
	slices.Sort(all)
	return all
}

// ListenerFeature is the feature of accepting connections of a protocol.
func ListenerFeature(p Protocol) Feature { return "listener." + Feature(p) }

// DestinationFeature is the feature of opening connections of a protocol.
func DestinationFeature(p Protocol) Feature { return "destination." + Feature(p) }

// DiscoveryFeature is the feature of discovering endpoints in a given way.
func DiscoveryFeature(k DiscoveryKind) Feature { return "discovery." + Feature(k) }

// Features of endpoints that are discovered: weights of groups, and fixed addresses beside them.
const (
	instanceWeights   Feature = "discovery.Instances.weights"
	instanceAddresses Feature = "discovery.Instances.addresses"
)

// HealthCheckFeature is the feature of checking endpoints with a protocol.
func HealthCheckFeature(p Protocol) Feature { return "healthCheck." + Feature(p) }

// SecretFeature is the feature of getting certificates and trust from a provider.
func SecretFeature(p SecretProvider) Feature { return "tls.secret." + Feature(p) }

// Needs lists the features that a view uses, one origin for each, in canonical order.
func (v *View) Needs() []Need {
	n := needs{}
	n.add("egress."+Feature(v.Mesh.Egress), v.Mesh.Origin, true)
	n.add("egress.names", v.Mesh.Origin, v.Mesh.Egress == EgressDeny && len(v.Mesh.EgressNames) > 0 && !v.Gateway)
	for i := range v.Workload.EgressRules {
		n.add(v.Workload.EgressRules[i].feature(), v.Workload.EgressRules[i].Origin, v.Mesh.Egress != EgressAllow)
	}
	for _, in := range v.Inbound {
		n.add(ListenerFeature(in.Listener.Protocol), in.Listener.Origin, true)
		n.add("listener.circuitBreaker", in.Listener.Origin, in.Listener.CircuitBreaker != nil)
		n.add("listener.healthCheck", in.Listener.Origin, in.Listener.HealthCheck != nil)
		n.add(connectionRate, in.Listener.Origin, in.Listener.ConnectionRate != nil)
		n.add(requestsPerConnection, in.Listener.Origin, in.Listener.RequestsPerConnection > 0)
		for _, rate := range in.Listener.RequestRates {
			n.add(requestRate, rate.Origin, true)
		}
		n.add("listener.track", in.Listener.Origin, in.Listener.TrackSessions > 0)
		n.add("listener.endSessions", in.Listener.Origin, in.Listener.EndSessions)
		n.add("listener.timeout", in.Listener.Origin, in.Listener.Timeouts != Timeouts{})
		if tls := in.Listener.TLS; tls != nil {
			n.add("listener.tls."+Feature(tls.Mode), tls.Origin, true)
			n.secrets(tls.Certificate, tls.Validation, tls.Origin)
			n.add("listener.tls.hosts", tls.Origin, len(tls.Hosts) > 0)
			for _, h := range tls.Hosts {
				n.secrets(&h.Certificate, nil, h.Origin)
			}
		}
		n.add("listener.router", in.Listener.Origin, in.Listener.Router != "")
		n.add("listener.services", in.Listener.Origin, in.Listener.Router == "" && v.Workload.Role == RoleGateway)
		n.routes(in.Routes)
	}
	n.add("gateway.trustedHops", v.Workload.Origin, v.Workload.TrustedHops > 0)
	n.outbound(&v.OutboundView)
	if log := v.Workload.AccessLog; log != nil {
		n.add(log.feature(), log.Origin, true)
	}
	n.add("authorization", v.Workload.Origin, v.Workload.Authorize)
	for _, a := range v.AuthorizationPolicies {
		n.add(ingressAuthorization, a.Origin, a.Ingress != nil)
	}
	return n.sorted()
}

// Needs lists the features that an outbound view uses, one origin for each, in canonical order. For a feature that the
// rest of a view uses too, the view has the origin there.
func (v *OutboundView) Needs() []Need {
	n := needs{}
	n.outbound(v)
	return n.sorted()
}

type needs map[Feature]Origin

func (n needs) add(f Feature, at Origin, used bool) {
	if !used {
		return
	}
	if _, known := n[f]; !known {
		n[f] = at
	}
}

func (n needs) outbound(r *OutboundView) {
	for _, out := range r.Outbound {
		for i := range out.Bindings {
			if b := &out.Bindings[i]; b.source == nil || !n.has(b.features.Value()) {
				n.binding(b)
			}
		}
	}
	type kind struct {
		Protocol
		DiscoveryKind
		BalancePolicy
		tls                bool
		certificate, trust SecretProvider
		check              Protocol
		outliers, panics   bool
		sendTimeout        bool
		limits             bool
		weights, addresses bool
	}
	seen := map[kind]bool{}
	for i := range r.Destinations {
		d := &r.Destinations[i]
		of := kind{Protocol: d.Protocol, DiscoveryKind: d.Discovery.Kind, BalancePolicy: d.Balance.Policy, tls: d.TLS != nil}
		if of.tls && d.TLS.Certificate != nil {
			of.certificate = d.TLS.Certificate.Secret.Provider
		}
		if of.tls && d.TLS.Validation != nil {
			of.trust = d.TLS.Validation.TrustSecret.Provider
		}
		if d.HealthCheck != nil {
			of.check = d.HealthCheck.Protocol
		}
		of.limits = d.Limits != nil
		of.weights = len(d.Discovery.Weights) > 0
		of.addresses = len(d.Discovery.Addresses) > 0 && d.Discovery.Kind == DiscoverInstances
		of.outliers, of.panics, of.sendTimeout = d.OutlierDetection != nil, d.PanicThreshold > 0, d.SendTimeout > 0
		if seen[of] {
			continue
		}
		seen[of] = true
		n.add(DestinationFeature(d.Protocol), d.Origin, true)
		n.add(DiscoveryFeature(d.Discovery.Kind), d.Origin, true)
		n.add(destinationTLS, d.Origin, of.tls)
		n.add(SecretFeature(of.certificate), d.Origin, of.certificate != "")
		n.add(SecretFeature(of.trust), d.Origin, of.trust != "")
		n.add(instanceWeights, d.Origin, of.weights)
		n.add(instanceAddresses, d.Origin, of.addresses)
		n.add("balance.ConsistentHash", d.Origin, d.Balance.Policy == ConsistentHash)
		n.add(HealthCheckFeature(of.check), d.Origin, of.check != "")
		n.add("outlierDetection", d.Origin, of.outliers)
		n.add("panicThreshold", d.Origin, of.panics)
		n.add("destination.sendTimeout", d.Origin, of.sendTimeout)
		if d.Limits != nil {
			n.add(destinationLimits, d.Limits.Origin, true)
		}
	}
}

// secrets adds the providers of a certificate and of a validation. Each may be nil.
func (n needs) secrets(c *Certificate, v *Validation, at Origin) {
	if c != nil {
		n.add(SecretFeature(c.Secret.Provider), at, c.Secret.Provider != "")
	}
	if v != nil {
		n.add(SecretFeature(v.TrustSecret.Provider), at, v.TrustSecret.Provider != "")
	}
}

func (n needs) binding(b *Binding) {
	n.add(ListenerFeature(b.Protocol), b.Origin, true)
	n.routes(b.Routes)
}

// featureList is a list of features, separated by commas. There are few different lists, which bindings share.
type featureList string

func (n needs) features() unique.Handle[featureList] {
	var list []string
	for f := range n {
		list = append(list, string(f))
	}
	slices.Sort(list)
	return unique.Make(featureList(strings.Join(list, ",")))
}

func (n needs) has(features featureList) bool {
	for f := range strings.SplitSeq(string(features), ",") {
		if _, known := n[Feature(f)]; !known {
			return false
		}
	}
	return true
}

func (n needs) sorted() []Need {
	var out []Need
	for _, f := range slices.Sorted(maps.Keys(n)) {
		out = append(out, Need{Feature: f, Origin: n[f]})
	}
	return out
}

func (n needs) routes(routes []Route) {
	for _, r := range routes {
		m, a := r.Match, r.Action
		n.add("route.match.path."+Feature(m.Path.Kind), r.Origin, m.Path.Kind != "")
		n.add("route.match.method", r.Origin, m.Method != "")
		n.add("route.match.scheme", r.Origin, m.Scheme != "")
		n.add("route.match.host", r.Origin, len(m.Hosts) > 0)
		n.add("route.match.predicate", r.Origin, m.Predicate != nil)
		for _, f := range m.Headers {
			n.add("route.match.header."+Feature(f.Kind), r.Origin, true)
		}
		for _, f := range m.Query {
			n.add("route.match.query."+Feature(f.Kind), r.Origin, true)
		}
		n.add("route.weights", r.Origin, len(a.Destinations) > 1)
		n.add("route.chain", r.Origin, len(a.ForwardChain)+len(a.ReverseChain) > 0)
		n.add("route.conversion", r.Origin, a.Convert)
		n.add("route.service", r.Origin, a.Service != nil)
		n.add("route.redirect", r.Origin, a.Redirect != nil)
		n.add(routeClients, r.Origin, r.Clients != nil)
		n.add("route.rewrite", r.Origin, a.Rewrite != nil && (a.Rewrite.Host != "" || a.Rewrite.Path != "" || a.Rewrite.PathPrefix != nil || len(a.Rewrite.Headers) > 0))
		n.add("route.rewrite.metadata", r.Origin, a.Rewrite != nil && len(a.Rewrite.Metadata) > 0)
		n.add("route.timeout", r.Origin, a.Timeouts != Timeouts{})
		n.add("route.retry.status", r.Origin, len(a.Retry.StatusCodes) > 0)
		n.add("route.retry.backoff", r.Origin, a.Retry.Backoff > 0)
		n.add("route.retry.pause", r.Origin, a.Retry.Pause > 0)
		for _, c := range a.Retry.Conditions {
			n.add("route.retry."+Feature(c), r.Origin, true)
		}
	}
}

// Unsupported returns a finding for each need that the driver does not support. View.Protect has those about features
// that protect traffic.
func Unsupported(driver string, needs []Need, supports map[Feature]bool) []Finding {
	var out []Finding
	for _, n := range needs {
		if !supports[n.Feature] && !n.Feature.Protects() {
			out = append(out,
				NewFinding(n.Origin, CodeNotSupported, "driver "+driver+" does not support "+string(n.Feature)))
		}
	}
	return SortFindings(out)
}
