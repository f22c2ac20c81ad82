package model

import (
	"fmt"
	"net/netip"
	"slices"
	"unique"
)

// View is the part of the model that one workload needs, without the endpoints of its destinations: see
// ResolvedDestination.
type View struct {
	Mesh     Mesh     `json:"mesh"`
	Workload Workload `json:"workload"`
	// Inbound are the workload's listeners, each with the routes for inbound traffic.
	Inbound []Inbound `json:"inbound,omitempty"`
	// OutboundView is what the workload reaches, and the destinations of its inbound routes.
	OutboundView
	// AuthorizationPolicies are the policies of this workload.
	AuthorizationPolicies []AuthorizationPolicy `json:"authorizationPolicies,omitempty"`
}

// Inbound is a listener and its routes; without routes, traffic goes to the application.
type Inbound struct {
	Listener Listener `json:"listener"`
	Routes   []Route  `json:"routes,omitempty"`
}

// Outbound is an outbound port of the workload.
type Outbound struct {
	Port     uint16    `json:"port"`
	Bindings []Binding `json:"bindings"`
}

// Binding is a service on a port, with the routes that apply there, in order.
type Binding struct {
	Service   string       `json:"service"`
	Protocol  Protocol     `json:"protocol"`
	Hosts     []string     `json:"hosts"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Pods and OtherPods are further addresses of a stream, those of pods: with MatchAddress, a connection to one of Pods
	// goes to this pod. See ReachablePort.
	Pods      []netip.Addr `json:"pods,omitempty"`
	OtherPods []netip.Addr `json:"otherPods,omitempty"`
	// MatchAddress restricts a stream to connections to its addresses. It is set if the stream shares the port with other
	// services; a stream that is alone on its port takes connections to every address. Requests that share the port
	// with streams are restricted to the addresses of all requests on the port, if the mesh forwards undeclared traffic.
	MatchAddress bool `json:"matchAddress,omitempty"`
	// External is Service.External.
	External bool    `json:"external,omitempty"`
	Routes   []Route `json:"routes,omitempty"`
	Origin   Origin  `json:"origin,omitzero"`

	// source has the routes of the binding; nil if no outboundBuilder made the binding. features are those that the
	// binding uses, with a source.
	source   *ReachableService
	features unique.Handle[featureList]
}

// Same reports whether both bindings are equal, with equal destinations. It may miss equal bindings, except for those
// that two versions of an outbound view share.
func (b *Binding) Same(o *Binding) bool {
	return b.source != nil && b.source == o.source && b.Protocol == o.Protocol && b.MatchAddress == o.MatchAddress &&
		slices.Equal(b.Addresses, o.Addresses)
}

// Catalog finds the items of a model that a view consists of. It reports false for items that do not exist. Items must
// not be modified.
type Catalog interface {
	Mesh(name string) (Mesh, bool)
	Workload(Key) (Workload, bool)
	Service(Key) (*Service, bool)
	// ServiceNames lists the names of the services of a mesh that are not private, sorted.
	ServiceNames(mesh string) []string
	Router(Key) (Router, bool)
	Destination(Key) (*Destination, bool)
	ServiceGroup(Key) (ServiceGroup, bool)
	// AuthorizationPolicies returns the policies of a workload.
	AuthorizationPolicies(workload Key) []AuthorizationPolicy
}

// WorkloadCatalog is a Catalog that knows the ports of services. They change less often than routes, so that views of
// gateways do not depend on the routes of services.
type WorkloadCatalog interface {
	Catalog
	// RequestPorts lists the ports of a service that take requests, in order.
	RequestPorts(service Key) []uint16
}

// NewView creates the view of a workload, with findings about conflicts and targets. It reports false if the workload
// or its mesh does not exist.
func NewView(c WorkloadCatalog, key Key) (View, []Finding, bool) {
	v, request, findings, ok := NewWorkloadView(c, key)
	if !ok {
		return View{}, nil, false
	}
	outbound, _ := NewOutboundView(outboundCatalog{c}, request, nil)
	v.OutboundView = outbound
	return v, SortFindings(append(findings, v.ConflictFindings(outbound.Conflicts())...)), true
}

// NewWorkloadView creates the view of a workload without its outbound view, the request for the outbound view, and
// findings about the targets of inbound routes. It reports false if the workload or its mesh does not exist.
func NewWorkloadView(c WorkloadCatalog, key Key) (View, OutboundRequest, []Finding, bool) {
	w, ok := c.Workload(key)
	if !ok {
		return View{}, OutboundRequest{}, nil, false
	}
	mesh, ok := c.Mesh(key.Mesh)
	if !ok {
		return View{}, OutboundRequest{}, nil, false
	}
	var findings []Finding
	v := View{Mesh: mesh, Workload: w, AuthorizationPolicies: c.AuthorizationPolicies(key)}
	for _, l := range w.Listeners {
		in := Inbound{Listener: l}
		if router, found := c.Router(Key{key.Mesh, l.Router}); found && l.Router != "" {
			routes, _ := routesOn(c, router, l.Port, l.Protocol)
			in.Routes = slices.Clone(routes)
			findings = append(findings, findPorts(c, key.Mesh, in.Routes)...)
		}
		v.Inbound = append(v.Inbound, in)
	}
	return v, requestOf(w, v.Inbound), SortFindings(findings), true
}

// findPorts sets the ports of the services that inbound routes target. A route without a port that takes requests loses
// its target.
func findPorts(c WorkloadCatalog, mesh string, routes []Route) (findings []Finding) {
	for i := range routes {
		target := routes[i].Action.Service
		if target == nil {
			continue
		}
		report := func(code Code, format string, args ...any) {
			findings = append(findings, NewFinding(target.Origin, code, fmt.Sprintf(format, args...)))
		}
		ports := c.RequestPorts(Key{mesh, target.Service})
		switch {
		case len(ports) == 0:
			report(CodeReferenceNotFound, "service %s has no port for HTTP or gRPC; requests get status 404", target.Service)
			findings[len(findings)-1].Severity = Warning // a service without routes is valid
			routes[i].Action.Service = nil
		case target.Port == 0:
			if len(ports) > 1 {
				report(CodeInvalidField, "the port is required: service %s has %d ports for HTTP and gRPC; %d is used",
					target.Service, len(ports), ports[0])
			}
			found := *target
			found.Port = ports[0]
			routes[i].Action.Service = &found
		case !slices.Contains(ports, target.Port):
			report(CodeReferenceNotFound, "service %s has no port %d for HTTP or gRPC; requests get status 404",
				target.Service, target.Port)
			routes[i].Action.Service = nil
		}
	}
	return findings
}

// outboundCatalog computes the services of an outbound view from the items of a catalog.
type outboundCatalog struct{ Catalog }

func (c outboundCatalog) ReachableService(key Key) (*ReachableService, bool) {
	return NewReachableService(c.Catalog, key)
}
