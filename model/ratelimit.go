package model

import (
	"fmt"
	"strings"
	"time"
)

// The features of limits.
const (
	connectionRate        Feature = "listener.rateLimit.connections"
	requestRate           Feature = "listener.rateLimit.requests"
	requestsPerConnection Feature = "listener.requestsPerConnection"
	destinationLimits     Feature = "destination.limits"
)

// RateLimit limits how much each instance accepts in a time: a bucket of Count plus Burst tokens, which gets Count
// tokens in each interval.
type RateLimit struct {
	Count    uint32   `json:"count"`
	Burst    uint32   `json:"burst,omitempty"`
	Interval Duration `json:"interval"`
	// Origin is set for limits of connections; RequestRate has its own.
	Origin Origin `json:"origin,omitzero"`
}

// String describes the limit.
func (r RateLimit) String() string {
	text := fmt.Sprintf("%d in %s", r.Count, time.Duration(r.Interval))
	if r.Burst > 0 {
		text += fmt.Sprintf(", and %d more at once", r.Burst)
	}
	return text
}

// RequestRate limits requests. The first one of a listener that matches a request applies to it.
type RequestRate struct {
	Match Match     `json:"match,omitzero"`
	Limit RateLimit `json:"limit"`
	// StatusCode is the status of the response to further requests, from 400 to 599, and Headers are headers of it.
	StatusCode uint16   `json:"statusCode"`
	Headers    []Header `json:"headers,omitempty"`
	Origin     Origin   `json:"origin,omitzero"`
}

// ConnectionLimits limit what a client opens to a destination at the same time. Zero means no limit. Further requests
// are answered with status 503 by its sidecar, and further connections of streams are closed.
type ConnectionLimits struct {
	MaxConnections uint32 `json:"maxConnections,omitempty"`
	// MaxPending limits the requests that wait for a connection, MaxRequests those without a complete response.
	MaxPending  uint32 `json:"maxPending,omitempty"`
	MaxRequests uint32 `json:"maxRequests,omitempty"`
	MaxRetries  uint32 `json:"maxRetries,omitempty"`
	// MaxRequestsPerConnection limits the requests on a connection, which is closed then.
	MaxRequestsPerConnection uint32 `json:"maxRequestsPerConnection,omitempty"`
	// ConnectTimeout limits the time until a connection is established; 0 means that of the driver.
	ConnectTimeout Duration `json:"connectTimeout,omitzero"`
	Origin         Origin   `json:"origin,omitzero"`
}

// overflows reports whether another request to a destination with this protocol is refused when others are open.
func (c *ConnectionLimits) overflows(p Protocol, open uint32) bool {
	if c == nil {
		return false
	}
	b := CircuitBreaker{MaxConnections: c.MaxConnections, MaxPending: c.MaxPending, MaxRequests: c.MaxRequests}
	if !p.Requests() {
		b.MaxPending = 0 // streams do not wait
	}
	return b.overflows(p, open)
}

// applyLimits refuses a request that exceeds the limits of all targets.
func (v *View) applyLimits(d *Decision) {
	open := d.Request.State.Open
	if open == 0 || d.Outcome != Forwarded {
		return
	}
	for _, t := range d.Targets {
		if to, ok := v.Destination(t.Destination); !ok || !to.Limits.overflows(to.Protocol, open) {
			return
		}
	}
	d.step(d.Targets[0].Origin, "limits of the destination do not allow more than %d at the same time", open)
	d.Outcome = Overflow
}

// String describes the limits.
func (c *ConnectionLimits) String() string {
	var out []string
	for _, l := range []struct {
		n    uint32
		what string
	}{
		{c.MaxConnections, "connections"}, {c.MaxPending, "waiting requests"}, {c.MaxRequests, "requests at a time"},
		{c.MaxRetries, "retries at a time"}, {c.MaxRequestsPerConnection, "requests on a connection"},
	} {
		if l.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", l.n, l.what))
		}
	}
	text := "at most " + strings.Join(out, ", ")
	if len(out) == 0 {
		text = "no limits"
	}
	if c.ConnectTimeout > 0 {
		text += fmt.Sprintf("; connections must be established in %s", time.Duration(c.ConnectTimeout))
	}
	return text
}

// applyRates refuses a request or a connection that exceeds the rate limits of a listener.
func (d *Decision) applyRates(l Listener) {
	if d.Outcome != Forwarded && d.Outcome != ToApplication {
		return
	}
	if rate := l.ConnectionRate; rate != nil {
		at := rate.Origin
		if at.IsZero() {
			at = l.Origin
		}
		d.step(at, "the listener accepts connections at a rate of %s; others are closed", rate)
	}
	for _, rate := range l.RequestRates {
		if !l.Protocol.Requests() || !rate.Match.Matches(d.Request) {
			continue
		}
		d.step(rate.Origin, "the listener accepts requests at a rate of %s; others get status %d", rate.Limit, rate.StatusCode)
		if d.Request.State.Exhausted {
			d.Outcome, d.StatusCode = RateLimited, rate.StatusCode
		}
		return
	}
}
