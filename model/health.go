package model

import (
	"cmp"
	"slices"
)

// HealthCheck is how clients check the endpoints of a destination. An endpoint that fails it gets no traffic until it
// passes it again.
type HealthCheck struct {
	// Protocol is that of the check: a request over HTTP, HTTP2 or GRPC (the gRPC health checking protocol), or a
	// connection over TCP.
	Protocol Protocol `json:"protocol"`
	// Host and Path are those of the request; a GRPC check has no path. Status 200 passes.
	Host string `json:"host,omitempty"`
	Path string `json:"path,omitempty"`
	// Interval is the time between two checks, Timeout the limit for one.
	Interval Duration `json:"interval"`
	Timeout  Duration `json:"timeout"`
	// HealthyThreshold and UnhealthyThreshold are the numbers of consecutive results that change the state of an
	// endpoint. The first result of a new endpoint needs no others.
	HealthyThreshold   uint32 `json:"healthyThreshold"`
	UnhealthyThreshold uint32 `json:"unhealthyThreshold"`
}

// OutlierDetection is how clients eject an endpoint of a destination by the results of their own traffic. An ejected
// endpoint gets no traffic.
type OutlierDetection struct {
	// ServerErrors is the number of consecutive responses with status 5xx, broken responses and failed connections that
	// ejects an endpoint.
	ServerErrors uint32 `json:"serverErrors"`
	// Interval is the time between two checks for endpoints that may return.
	Interval Duration `json:"interval"`
	// BaseEjection is the duration of the first ejection; the duration of each further one grows by it.
	BaseEjection Duration `json:"baseEjection"`
	// MaxEjectedPercent limits the ejected endpoints. One may always be ejected.
	MaxEjectedPercent uint32 `json:"maxEjectedPercent"`
}

// CircuitBreaker limits what a listener forwards at the same time. Zero means no limit. Further requests are answered
// with status 503, and further connections of streams are closed.
type CircuitBreaker struct {
	// MaxConnections limits the connections to the application. MaxPending limits the requests that wait for one.
	MaxConnections uint32 `json:"maxConnections,omitempty"`
	MaxPending     uint32 `json:"maxPending,omitempty"`
	// MaxRequests limits the requests that have no complete response yet.
	MaxRequests uint32 `json:"maxRequests,omitempty"`
}

// State is the state of the mesh when a request arrives. The zero value is a healthy and idle mesh.
type State struct {
	// Unhealthy are the destinations without a healthy endpoint, and Empty those without any endpoint that is ready.
	Unhealthy []string `json:"unhealthy,omitempty"`
	Empty     []string `json:"empty,omitempty"`
	// Open is the number of requests on the listener, or to each destination, without a complete response, or of
	// connections for streams.
	Open uint32 `json:"open,omitempty"`
	// Exhausted is true if the listener has accepted as many requests as its rate limits allow.
	Exhausted bool `json:"exhausted,omitempty"`
}

// applyCircuitBreaker refuses a request that the listener would forward, but that exceeds its limits.
func (d *Decision) applyCircuitBreaker(l Listener) {
	forwards := d.Outcome == Forwarded || d.Outcome == ToApplication
	if open := d.Request.State.Open; forwards && l.CircuitBreaker.overflows(l.Protocol, open) {
		d.step(l.Origin, "the circuit breaker of the listener does not allow more than %d at the same time", open)
		d.Outcome = Overflow
	}
}

// overflows reports whether a listener with this protocol refuses a request when others are open.
func (b *CircuitBreaker) overflows(p Protocol, open uint32) bool {
	switch {
	case b == nil:
		return false
	case b.MaxRequests > 0 && open >= b.MaxRequests:
		return true
	case p.Multiplexed() || b.MaxConnections == 0: // a connection takes any number of requests
		return false
	case p.Requests() && b.MaxPending == 0:
		return false
	}
	return uint64(open) >= uint64(b.MaxConnections)+uint64(b.MaxPending)
}

// applyHealth adds what the state of the targets means for the decision.
func (v *View) applyHealth(d *Decision) {
	healthy := len(d.Targets)
	for _, t := range d.Targets {
		to, _ := v.Destination(t.Destination)
		if to.Nowhere() {
			d.step(t.Origin, "%s: its share, weight %d, has no endpoint",
				cmp.Or(to.Discovery.Reason, "this target does not exist"), t.Weight)
			healthy--
			continue
		}
		if slices.Contains(d.Request.State.Empty, t.Destination) {
			d.step(t.Origin, "destination %s has no endpoint that is ready", t.Destination)
			healthy--
			continue
		}
		if !slices.Contains(d.Request.State.Unhealthy, t.Destination) {
			continue
		}
		if to.PanicThreshold > 0 {
			d.step(t.Origin, "destination %s has no healthy endpoint: all of its endpoints are used", t.Destination)
			continue
		}
		d.step(t.Origin, "destination %s has no healthy endpoint", t.Destination)
		healthy--
	}
	if healthy == 0 {
		d.Outcome = Unavailable
	}
}
