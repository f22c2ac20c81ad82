package model

import (
	"fmt"
	"slices"
	"strings"
)

// otherPorts describes the ports of the listeners, to follow the statement that there is none on another port.
func (v *View) otherPorts() string {
	var ports []string
	for _, in := range v.Inbound {
		ports = append(ports, fmt.Sprint(in.Listener.Port))
	}
	if len(ports) == 0 {
		return ""
	}
	return "; it has " + strings.Join(ports, ", ")
}

// Accepting returns the index of the listener that accepts an inbound request, or -1.
func (v *View) Accepting(r Request) int {
	return slices.IndexFunc(v.Inbound, func(in Inbound) bool {
		l := in.Listener
		return l.Port == r.Port && l.Socket == r.Socket && l.Datagrams() == (r.Protocol == UDP)
	})
}

// DecideInbound returns the decision for an inbound request of the workload.
func (v *View) DecideInbound(r Request) Decision {
	v = v.InAllTrustDomains()
	r.TLS = v.Mesh.issuedBy(r.TLS)
	d := Decision{Request: r}
	i := v.Accepting(r)
	if i < 0 && r.Socket != "" {
		d.step(v.Workload.Origin, "there is no listener on the unix socket %s", r.Socket)
		d.Outcome = Refused
		return d
	}
	if i < 0 && v.Workload.Role == RoleGateway { // there is no application
		d.step(v.Workload.Origin, "the gateway has no listener on port %d%s", r.Port, v.otherPorts())
		d.Outcome = Refused
		return d
	}
	if i < 0 {
		d.step(v.Workload.Origin, "the workload has no listener on port %d", r.Port)
		d.Outcome = ToApplication
		return d
	}
	in := v.Inbound[i]
	if in.Listener.TLS == nil && in.Listener.Protocol.Requests() && r.TLS != nil {
		d.step(in.Listener.Origin, "the listener does not serve TLS: the connection is decoded as HTTP")
		d.Outcome = NotHTTP
		return d
	}
	if accepted := v.accepts(&d, in.Listener); !accepted {
		d.Outcome = Refused
		return d
	}
	switch requests := in.Listener.Protocol.Requests(); {
	case requests && !r.Protocol.Requests():
		d.step(in.Listener.Origin, "the listener on port %d decodes the connection as HTTP", r.Port)
		d.Outcome = NotHTTP
		return d
	case requests && !d.canonical():
		return d
	}
	d.Request.Client = d.Request.clientOf(v.Workload.TrustedHops)
	if v.Workload.Role == RoleGateway && v.Workload.TrustedHops == 0 {
		d.Request.Headers = slices.DeleteFunc(slices.Clone(d.Request.Headers), func(h Header) bool {
			return strings.EqualFold(h.Name, forwardedProto) // the gateway sets the scheme of the connection
		})
	}
	if !v.authorized(&d, in.Listener) {
		d.Outcome = Denied
		return d
	}
	switch {
	case in.Listener.Router != "":
		d = v.route(d, d.Request.Host, in.Routes, in.Listener.Protocol)
	case v.Workload.Role == RoleGateway:
		d = v.followHost(d, in.Listener)
	default:
		d.step(in.Listener.Origin, "the listener on port %d forwards the request to the application", r.Port)
		if n := in.Listener.RequestsPerConnection; n > 0 {
			d.step(in.Listener.Origin, "the limit of requests on a connection to the application is %d", n)
		}
		d.Outcome, d.Timeouts = ToApplication, in.Listener.Timeouts
	}
	if in.Listener.Datagrams() && !in.Listener.Peer.IsValid() && (d.Timeouts.Idle == 0 || d.Timeouts.Idle > UDPIdle) {
		d.Timeouts.Idle = UDPIdle
	}
	d.applyRates(in.Listener)
	d.applyCircuitBreaker(in.Listener)
	return d
}
