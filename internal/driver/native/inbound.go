package native

import (
	"fmt"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// connectTimeout limits an attempt to connect, in milliseconds.
const connectTimeout = 1000

// inbound renders the listeners for captured inbound connections, with the application as their cluster.
func (r *renderer) inbound(l model.Listener) {
	if l.Router != "" {
		r.findings = append(r.findings, model.NewFinding(l.Origin, model.CodeNotSupported,
			"driver native does not support listeners of sidecars with routes; the listener is not served"))
		return
	}
	if !captured(l.Protocol) || l.Port == 0 {
		return // the features have findings
	}
	l, allowed := r.view.StreamListener(l)
	tls, serves := r.sidecarTLS(l)
	if !serves || !allowed {
		return // connections are closed
	}
	name := fmt.Sprintf("inbound/%d", l.Port)
	listener := capturedListener(name, sidecar.InboundPort, l.Protocol, config.Captured{Port: int(l.Port)})
	listener.Spec.TLS = tls
	listener.Options.ConnectionRate = rate(l.ConnectionRate)
	to := &config.Route{
		Destination: config.ClusterRef{Name: name}, Retry: retry(model.Retry{}, connectTimeout),
		Timeouts: explicitTimeouts(model.Action{Timeouts: l.Timeouts}),
	}
	limits := breaker(l.CircuitBreaker)
	limits.RequestsPerConnection = number(l.RequestsPerConnection)
	if l.RequestsPerConnection > 0 && l.Protocol.Multiplexed() {
		r.findings = append(r.findings, model.NewFinding(l.Origin, model.CodeNotSupported,
			"driver native limits the requests on connections of HTTP/1.1 only"))
	}
	rules, policies := r.requestRules(l, to)
	listener.Rules.Inline = rules
	r.add("listener/"+name, &config.Config{
		Listeners: []config.Listener{listener},
		Clusters: []config.Cluster{{
			Name: name,
			Spec: config.ClusterSpec{
				Protocol: protocols[l.Protocol], Port: int(l.Port), HTTP2: l.Protocol.Multiplexed(),
			},
			Endpoints: []config.Endpoint{{Spec: config.EndpointSpec{Address: loopback(r.view.Mesh)}}},
			Limits:    limits,
		}},
	}, append(policies, l.Origin)...)
}

// captured reports whether packet rules capture connections of a protocol.
func captured(p model.Protocol) bool { return p.Requests() || p == model.TCP }

// capturedListener returns a listener without rules for connections that the packet rules redirect to a port.
func capturedListener(name string, port int, p model.Protocol, destinations config.Captured) config.Listener {
	return config.Listener{Name: clusterName(name), Spec: config.ListenerSpec{
		Protocol: protocols[p], Port: port, Captured: &destinations, Canonical: p.Requests(),
	}}
}

// loopback is the loopback address of the mesh's IP family.
func loopback(mesh model.Mesh) string {
	if mesh.Family == model.IPv6Only {
		return "::1"
	}
	return "127.0.0.1"
}
