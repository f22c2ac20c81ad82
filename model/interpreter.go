package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Request is a connection or request of an application.
type Request struct {
	// Port and Address are the original destination of the connection; Address may be unknown.
	Port    uint16     `json:"port"`
	Address netip.Addr `json:"address,omitzero"`
	// Socket is the file of the unix socket that the client connects to; then there is no port.
	Socket string `json:"socket,omitempty"`
	// Protocol is the protocol of the connection.
	Protocol Protocol `json:"protocol"`
	Host     string   `json:"host,omitempty"`
	// ServerName is the SNI of a TLS handshake of the application.
	ServerName string `json:"serverName,omitempty"`
	Method     string `json:"method,omitempty"`
	// Path is the request target, query included.
	Path    string   `json:"path,omitempty"`
	Scheme  string   `json:"scheme,omitempty"`
	Headers []Header `json:"headers,omitempty"`
	// TLS is the handshake of the client of an inbound request; nil means without TLS.
	TLS *Handshake `json:"tls,omitempty"`
	// Client is the address from which an inbound request comes; it may be unknown.
	Client netip.Addr `json:"client,omitzero"`
	// Metadata is the input of predicates.
	Metadata map[string]any `json:"metadata,omitempty"`
	// State is the state of the mesh when the request arrives.
	State State `json:"state,omitzero"`
}

// Header is one header field; names ignore case.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// EgressNamesPort is the port on which Mesh.EgressNames apply, for workloads without backends on it.
const EgressNamesPort = 443

// MaxEgressNames is the number of server names that a sidecar resolves for Mesh.EgressNames. A connection to a further
// name is closed. A name counts until 5 minutes after its last connection.
const MaxEgressNames = 1024

// Decision is the action of the mesh for a request, with its reasons.
type Decision struct {
	Outcome Outcome `json:"outcome"`
	Service string  `json:"service,omitempty"`
	Route   string  `json:"route,omitempty"`
	// Pod is the address of the pod of the only target that a connection goes to; invalid if it may be any of them.
	Pod netip.Addr `json:"pod,omitzero"`
	// Targets are the possible destinations with a weight above 0.
	Targets []WeightedDestination `json:"targets,omitempty"`
	// ForwardChain and ReverseChain are the destinations that the stream passes in each direction.
	ForwardChain []string `json:"forwardChain,omitempty"`
	ReverseChain []string `json:"reverseChain,omitempty"`
	// Location is the URL of a redirect, and StatusCode the status of its response.
	Location   string `json:"location,omitempty"`
	StatusCode uint16 `json:"statusCode,omitempty"`
	// Request is the forwarded request. The mesh changes requests of HTTP protocols only, never the bytes of other
	// streams.
	Request  Request  `json:"request,omitzero"`
	Retry    Retry    `json:"retry,omitzero"`
	Timeouts Timeouts `json:"timeouts,omitzero"`
	// Steps explain the decision, in order.
	Steps []Step `json:"steps,omitempty"`
}

// Step is one reason of a decision, with the field that causes it.
type Step struct {
	Text   string `json:"text"`
	Origin Origin `json:"origin,omitzero"`
}

// Decide returns the decision for an outbound request of the workload's application.
func (v *View) Decide(r Request) Decision {
	d := Decision{Request: r}
	if rule := v.egressRule(r); rule != nil {
		d.step(rule.Origin, "%s on port %d are passed", rule, r.Port)
		d.Outcome = PassedThrough
		return d
	}
	i := slices.IndexFunc(v.Outbound, func(o Outbound) bool { return o.Port == r.Port })
	if i < 0 {
		return v.applyEgress(d, Refused, fmt.Sprintf("no backend of the workload uses port %d", r.Port),
			v.Workload.Origin)
	}
	binding, requests := v.Outbound[i].find(r)
	switch {
	case requests && !d.canonical():
		return d
	case binding != nil:
		d.step(binding.Origin, "%s on port %d is service %s", cmp.Or(d.Request.Host, r.Address.String()), r.Port,
			binding.Service)
		if ref, is := v.GroupOf(binding.Service); is {
			d.step(v.Workload.Origin.At(ref.Path), "service %s is a member of the group %s", binding.Service, ref.Group)
		}
		return v.followBinding(d, *binding)
	case requests && !r.Protocol.Requests():
		d.step(v.Workload.Origin, "the backends on port %d use HTTP: the connection is decoded as HTTP", r.Port)
		d.Outcome = NotHTTP
		return d
	case requests:
		return v.applyEgress(d, NotFound, fmt.Sprintf("no backend on port %d has the host name %q", r.Port, r.Host),
			v.Workload.Origin)
	}
	return v.applyEgress(d, Refused, fmt.Sprintf("no backend on port %d has address %s", r.Port, r.Address),
		v.Workload.Origin)
}

func (v *View) followBinding(d Decision, b Binding) Decision {
	d.Service = b.Service
	if b.ToPod(d.Request.Address) {
		d.step(b.Origin, "%s is the address of a pod of the service: the connection goes to this pod", d.Request.Address)
		d.Pod = d.Request.Address
	}
	return v.route(d, d.Request.Host, b.Routes, b.Protocol)
}

// route applies the first route that matches the request with a host. Without a destination, a request is not found and
// a stream is refused.
func (v *View) route(d Decision, host string, routes []Route, p Protocol) Decision {
	nowhere := NotFound
	if !p.Requests() {
		nowhere = Refused
	}
	for _, r := range routes {
		request := d.Request
		request.Host = host
		if !r.Match.Matches(request) {
			d.step(r.Origin.At(r.Origin.Path), "route %s does not match", r.Name)
			continue
		}
		d.step(r.Origin, "route %s matches", r.Name)
		d.Route = r.Name
		if !d.admits(r) {
			d.Outcome = Denied
			return d
		}
		if s := r.Action.Service; s != nil {
			d.Request = r.Action.Rewrite.apply(d.Request, r.Match.Path)
			return v.followService(d, *s)
		}
		if to := r.Action.Redirect; to != nil {
			d.Outcome, d.StatusCode = Redirected, to.StatusCode
			d.Location = to.Scheme + "://" + to.Host + d.Request.Path
			d.step(r.Origin, "the client is redirected to %s", d.Location)
			return d
		}
		d.Outcome = Forwarded
		d.ForwardChain, d.ReverseChain = r.Action.ForwardChain, r.Action.ReverseChain
		d.Retry, d.Timeouts = r.Action.Retry, r.Action.Timeouts
		if by := d.Retry.Origin; by.Object() != (ObjectRef{}) {
			d.step(by, "failed requests are retried")
		}
		if chain := d.ForwardChain; len(chain) > 0 {
			d.step(r.Origin, "what the client sends passes %s first", strings.Join(chain, ", "))
		}
		if chain := d.ReverseChain; len(chain) > 0 {
			d.step(r.Origin, "what the client gets passes %s first", strings.Join(chain, ", "))
		}
		for _, t := range r.Action.Destinations {
			if t.Weight > 0 {
				d.Targets = append(d.Targets, t)
				d.step(t.Origin, "destination %s has weight %d", t.Destination, t.Weight)
				to, _ := v.Destination(t.Destination)
				if to.Balance.Policy == ConsistentHash {
					d.step(to.Origin, "a hash of %s chooses the endpoint", to.Balance.HashKey)
				}
				if only := to.Discovery.Identities; len(only) > 0 {
					d.step(to.Origin, "only pods of %s get it: policies do not allow the workload to call others", identityNames(only))
				}
				if to.SendTimeout > 0 {
					d.step(t.Origin, "connections to it break if it accepts nothing for %s", time.Duration(to.SendTimeout))
				}
				if to.Limits != nil {
					d.step(to.Limits.Origin, "the sidecar opens to it %s", to.Limits)
				}
			}
		}
		if len(d.Targets) == 0 {
			d.step(r.Origin, "route %s has no destination", r.Name)
			d.Outcome = nowhere
			return d
		}
		if !d.Pod.IsValid() {
			v.applyHealth(&d)
		}
		v.applyLimits(&d)
		d.Request = r.Action.Rewrite.apply(d.Request, r.Match.Path)
		return d
	}
	d.step(v.Workload.Origin, "no route matches")
	d.Outcome = nowhere
	return d
}

// applyEgress applies the mesh's egress rule to undeclared traffic.
func (v *View) applyEgress(d Decision, otherwise Outcome, why string, at Origin) Decision {
	d.step(at, "%s", why)
	d.Outcome = otherwise
	named := func(pattern string) bool { return hostMatches(pattern, d.Request.ServerName) }
	undeclared := d.Request.Port == EgressNamesPort && v.port(EgressNamesPort) == nil
	switch {
	case v.Mesh.Egress == EgressAllow:
		d.Outcome = PassedThrough
	case undeclared && slices.ContainsFunc(v.Mesh.EgressNames, named):
		d.step(v.Mesh.Origin, "the mesh allows TLS to %s, at the address to which the sidecar resolves this name",
			d.Request.ServerName)
		d.Outcome = Resolved
		return d
	}
	d.step(v.Mesh.Origin, "the mesh's egress rule is %s", v.Mesh.Egress)
	return d
}

func (d *Decision) step(at Origin, format string, args ...any) {
	d.Steps = append(d.Steps, Step{Text: fmt.Sprintf(format, args...), Origin: at})
}
