package model

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// View is the part of the model that one workload needs, without the endpoints of its destinations: see
// ResolvedDestination.
type View struct {
	Mesh     Mesh     `json:"mesh"`
	Workload Workload `json:"workload"`
	// Inbound are the workload's listeners, each with the routes for inbound traffic.
	Inbound []Inbound `json:"inbound,omitempty"`
	// Outbound are the ports of the workload's backends, with the services on each.
	Outbound []Outbound `json:"outbound,omitempty"`
	// Hosts are the reachable host names that the DNS server of the agent answers, in order.
	Hosts []Host `json:"hosts,omitempty"`
	// Destinations are the targets of the routes above.
	Destinations []Destination `json:"destinations,omitempty"`
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
	// MatchAddress restricts a stream to connections to its addresses. It is set if the stream shares the port with other
	// services; a stream that is alone on its port takes connections to every address. Requests that share the port
	// with streams are restricted to the addresses of all requests on the port, if the mesh forwards undeclared traffic.
	MatchAddress bool    `json:"matchAddress,omitempty"`
	Routes       []Route `json:"routes,omitempty"`
	Origin       Origin  `json:"origin,omitzero"`
}

// Catalog finds the items of a model that a view consists of. It reports false for items that do not exist.
type Catalog interface {
	Mesh(name string) (Mesh, bool)
	Workload(Key) (Workload, bool)
	Service(Key) (Service, bool)
	// Services lists the services of a mesh by name.
	Services(mesh string) []Service
	Router(Key) (Router, bool)
	Destination(Key) (Destination, bool)
	// AuthorizationPolicies returns the policies of a workload.
	AuthorizationPolicies(workload Key) []AuthorizationPolicy
}

// NewView creates the view of a workload, with findings about conflicts. It reports false if the workload or its mesh
// does not exist.
func NewView(c Catalog, key Key) (View, []Finding, bool) {
	w, ok := c.Workload(key)
	if !ok {
		return View{}, nil, false
	}
	mesh, ok := c.Mesh(key.Mesh)
	if !ok {
		return View{}, nil, false
	}
	v := View{Mesh: mesh, Workload: w, AuthorizationPolicies: c.AuthorizationPolicies(key)}
	b := viewBuilder{
		Catalog: c, mesh: key.Mesh, dns: w.DNS, ports: map[uint16]*portBuilder{}, hosts: hosts{},
		destinations: map[string]*Destination{},
	}
	for _, l := range w.Listeners {
		in := Inbound{Listener: l}
		if router, found := c.Router(Key{key.Mesh, l.Router}); found && l.Router != "" {
			in.Routes = b.routes(router, l.Port, l.Protocol)
			for _, r := range in.Routes {
				if s := r.Action.Service; s != nil {
					b.addService(Backend{Service: s.Service, Origin: r.Origin})
				}
			}
		}
		v.Inbound = append(v.Inbound, in)
	}
	for _, backend := range backendsOf(c, w) {
		b.addService(backend)
	}
	for _, port := range slices.Sorted(maps.Keys(b.ports)) {
		v.Outbound = append(v.Outbound, b.ports[port].sorted(mesh.Egress))
	}
	for _, name := range slices.Sorted(maps.Keys(b.destinations)) {
		if d := b.destinations[name]; d != nil {
			v.Destinations = append(v.Destinations, *d)
			if w.DNS != DNSOff {
				b.hosts.addDestination(*d)
			}
		}
	}
	v.Hosts = b.hosts.sorted()
	return v, SortFindings(b.findings), true
}

// backendsOf lists the backends of a workload, in canonical order.
func backendsOf(c Catalog, w Workload) []Backend {
	if !w.BackendsAll {
		return w.Backends
	}
	var all []Backend
	for _, s := range c.Services(w.Mesh) {
		all = append(all, Backend{Service: s.Name, Origin: s.Origin})
	}
	return all
}

// viewBuilder collects the ports and destinations of a view.
type viewBuilder struct {
	Catalog
	mesh  string
	dns   DNSMode
	ports map[uint16]*portBuilder
	hosts hosts
	// destinations caches lookups by name; a nil value means that the destination does not exist.
	destinations map[string]*Destination
	findings     []Finding
}

func (b *viewBuilder) addService(backend Backend) {
	service, known := b.Service(Key{b.mesh, backend.Service})
	if !known {
		return // the dialect reports a finding
	}
	addresses := service.Addresses
	if b.dns.Answers(service) {
		if len(addresses) == 0 {
			addresses = service.Reserved
		}
		b.hosts.addService(service, addresses)
	}
	router, known := b.Router(Key{b.mesh, service.Router})
	if !known {
		return
	}
	for _, p := range router.Ports {
		binding := Binding{
			Service: service.Name, Protocol: p.Protocol, Origin: service.Origin,
			Hosts: append([]string{service.Name}, service.Aliases...), Addresses: addresses,
		}
		out := b.ports[p.Port]
		if out == nil {
			out = newPortBuilder(p.Port)
			b.ports[p.Port] = out
		}
		if out.has(binding) {
			continue // another route of the gateway has added it
		}
		if other, why := out.conflict(binding); why != "" {
			b.findings = append(b.findings, NewFinding(backend.Origin, CodePortConflict, fmt.Sprintf(
				"%s (%s) on port %d conflicts with %s (%s): %s; it is not served",
				binding.Service, binding.Protocol, p.Port, other.Service, other.Protocol, why)))
			continue
		}
		binding.Routes = b.routes(router, p.Port, p.Protocol)
		out.add(binding)
	}
}

// routes selects the routes of a router for a port and adds their destinations. It drops targets whose destination does
// not exist; the dialect reports a finding for them.
func (b *viewBuilder) routes(router Router, port uint16, protocol Protocol) []Route {
	var out []Route
	for _, r := range router.Routes {
		if r.Protocol != protocol || r.Port != 0 && r.Port != port {
			continue
		}
		r.Action.Destinations = slices.DeleteFunc(slices.Clone(r.Action.Destinations),
			func(d WeightedDestination) bool {
				return !b.addDestination(d.Destination)
			})
		for _, name := range slices.Concat(r.Action.ForwardChain, r.Action.ReverseChain) {
			b.addDestination(name)
		}
		out = append(out, r)
	}
	return out
}

// addDestination adds a destination to the view and reports whether it exists.
func (b *viewBuilder) addDestination(name string) bool {
	d, asked := b.destinations[name]
	if !asked {
		if found, ok := b.Catalog.Destination(Key{b.mesh, name}); ok {
			d = &found
		}
		b.destinations[name] = d
	}
	return d != nil
}

// Destination finds a destination of the view.
func (v *View) Destination(name string) (Destination, bool) {
	i, ok := slices.BinarySearchFunc(v.Destinations, name, func(d Destination, n string) int {
		return strings.Compare(d.Name, n)
	})
	if !ok {
		return Destination{}, false
	}
	return v.Destinations[i], true
}
