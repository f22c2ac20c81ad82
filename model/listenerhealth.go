package model

// ListenerHealthCheck is how a gateway checks its own listener: it connects to the listener within the pod and sends a
// request, which the routes of the listener apply to. The result is in the metrics of the gateway.
type ListenerHealthCheck struct {
	HealthCheck
	// TLS is how the gateway connects to the listener; nil means without TLS.
	TLS *ClientTLS `json:"tls,omitempty"`
	// Readiness means that an instance is not ready while the listener fails the check. Otherwise the result has no
	// effect on traffic.
	Readiness bool `json:"readiness,omitempty"`
}

// grpcHealthPath is the path of the gRPC health checking protocol.
const grpcHealthPath = "/grpc.health.v1.Health/Check"

// request returns the request of the check of a listener.
func (c *ListenerHealthCheck) request(l Listener) Request {
	r := Request{Port: l.Port, Protocol: c.Protocol, Host: c.Host, Method: "GET", Scheme: "http", Path: c.Path}
	if c.Protocol == GRPC {
		r.Method, r.Path = "POST", grpcHealthPath
	}
	if c.TLS != nil {
		r.TLS, r.ServerName, r.Scheme = &Handshake{}, c.TLS.ServerName, "https"
		if c.TLS.Certificate != nil {
			*r.TLS = c.TLS.Certificate.Secret.Content()
		}
	}
	return r
}

// DecideHealthCheck returns the decision for the health check of the listener on a port. The check passes if the
// request is forwarded, and the response has status 200 or, for GRPC, is SERVING. It reports false for a listener
// without a check.
func (v *View) DecideHealthCheck(port uint16) (Decision, bool) {
	for _, in := range v.Inbound {
		if c := in.Listener.HealthCheck; c != nil && in.Listener.Port == port {
			return v.DecideInbound(c.request(in.Listener)), true
		}
	}
	return Decision{}, false
}
