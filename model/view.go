package model

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// View is what one workload must know of the model. It is all that a driver gets to see.
type View struct {
	Mesh     Mesh     `json:"mesh"`
	Workload Workload `json:"workload"`
	// Inbound are the workload's listeners, each with the routes that arriving traffic takes.
	Inbound []Inbound `json:"inbound,omitempty"`
	// Outbound are the ports that the workload may dial, and the services behind each.
	Outbound []Outbound `json:"outbound,omitempty"`
	// Destinations are those that the routes above lead to.
	Destinations []Destination `json:"destinations,omitempty"`
	// Endpoints are the ready ones of destinations that are found by instances, each once.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// Accesses restrict who may call this workload.
	Accesses []Access `json:"accesses,omitempty"`
}

// Inbound is a listener and its routes; without routes the application behind it takes the traffic.
type Inbound struct {
	Listener Listener `json:"listener"`
	Routes   []Route  `json:"routes,omitempty"`
}

// Outbound is a port that the workload may dial.
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
	Routes    []Route      `json:"routes,omitempty"`
	Origin    Origin       `json:"origin,omitzero"`
}

// NewView makes the view of a workload, and findings about what it cannot have. It reports false if there is no such workload.
func NewView(ix *Index, key Key) (View, []Finding, bool) {
	w, ok := ix.workloads[key]
	if !ok {
		return View{}, nil, false
	}
	mesh, ok := ix.meshes[key.Mesh]
	if !ok {
		return View{}, nil, false
	}
	v := View{Mesh: *mesh, Workload: *w, Accesses: ix.accesses[key]}
	b := viewBuilder{ix: ix, mesh: key.Mesh, ports: map[uint16]*Outbound{}, destinations: map[string]bool{}, known: map[Instance]bool{}}
	for _, l := range w.Listeners {
		in := Inbound{Listener: l}
		if router := ix.routers[Key{key.Mesh, l.Router}]; router != nil {
			in.Routes = b.routes(router, l.Port, l.Protocol)
			for _, r := range in.Routes {
				if s := r.Action.Service; s != nil {
					b.addService(Backend{Service: s.Service, Origin: r.Origin})
				}
			}
		}
		v.Inbound = append(v.Inbound, in)
	}
	for _, backend := range ix.reachable(w) {
		b.addService(backend)
	}
	for _, port := range slices.Sorted(maps.Keys(b.ports)) {
		v.Outbound = append(v.Outbound, *b.ports[port])
	}
	for _, name := range slices.Sorted(maps.Keys(b.destinations)) {
		d := ix.destinations[Key{key.Mesh, name}]
		v.Destinations = append(v.Destinations, *d)
		if d.Discovery.Kind == DiscoverInstances {
			b.addEndpoints(*d)
		}
	}
	v.Endpoints = b.endpoints
	slices.SortFunc(v.Endpoints, Endpoint.compare)
	return v, SortFindings(b.findings), true
}

// reachable lists the services that a workload may reach, in canonical order.
func (ix *Index) reachable(w *Workload) []Backend {
	if !w.BackendsAll {
		return w.Backends
	}
	var all []Backend
	for key, s := range ix.services {
		if key.Mesh == w.Mesh {
			all = append(all, Backend{Service: key.Name, Origin: s.Origin})
		}
	}
	slices.SortFunc(all, func(a, b Backend) int { return strings.Compare(a.Service, b.Service) })
	return all
}

// viewBuilder gathers what a view reaches.
type viewBuilder struct {
	ix           *Index
	mesh         string
	ports        map[uint16]*Outbound
	destinations map[string]bool
	endpoints    []Endpoint
	known        map[Instance]bool
	findings     []Finding
}

// addEndpoints notes what a destination leads to, unless another one does so already. What is not ready is left out: it gets no
// traffic, and a view is not to change when it comes or goes.
func (b *viewBuilder) addEndpoints(d Destination) {
	for _, e := range b.ix.Reached(d) {
		if e.Ready && !b.known[e.Instance] {
			b.known[e.Instance] = true
			b.endpoints = append(b.endpoints, e)
		}
	}
}

func (b *viewBuilder) addService(backend Backend) {
	service := b.ix.services[Key{b.mesh, backend.Service}]
	if service == nil {
		return // the dialect has said so already
	}
	router := b.ix.routers[Key{b.mesh, service.Router}]
	if router == nil {
		return
	}
	for _, p := range router.Ports {
		binding := Binding{
			Service: service.Name, Protocol: p.Protocol, Origin: service.Origin,
			Hosts: append([]string{service.Name}, service.Aliases...), Addresses: service.Addresses,
		}
		out := b.ports[p.Port]
		if out == nil {
			out = &Outbound{Port: p.Port}
			b.ports[p.Port] = out
		}
		if slices.ContainsFunc(out.Bindings, func(o Binding) bool { return o.Service == binding.Service && o.Protocol == binding.Protocol }) {
			continue // several routes of a gateway lead to it
		}
		if other, why := out.clash(binding); why != "" {
			b.findings = append(b.findings, NewFinding(backend.Origin, CodePortConflict, fmt.Sprintf(
				"%s (%s) on port %d cannot be told from %s (%s), which %s; it is left out",
				binding.Service, binding.Protocol, p.Port, other.Service, other.Protocol, why)))
			continue
		}
		binding.Routes = b.routes(router, p.Port, p.Protocol)
		out.Bindings = append(out.Bindings, binding)
		slices.SortStableFunc(out.Bindings, func(x, y Binding) int {
			return firstNonZero(strings.Compare(x.Service, y.Service), cmp.Compare(x.Protocol, y.Protocol))
		})
	}
}

// clash finds a binding that traffic for the new one could not be told from, and says why. Requests carry a host name, whose
// case does not count; plain streams can only be told apart by the address that was dialled.
func (o *Outbound) clash(b Binding) (other Binding, why string) {
	for _, other := range o.Bindings {
		if b.Protocol.Requests() && other.Protocol.Requests() {
			if slices.ContainsFunc(b.Hosts, func(h string) bool { return other.serves(h, o.Port) }) {
				return other, "has the same host name"
			}
			continue
		}
		if b.Protocol == UDP != (other.Protocol == UDP) {
			continue
		}
		if !b.Protocol.Requests() && len(b.Addresses) == 0 || !other.Protocol.Requests() && len(other.Addresses) == 0 {
			return other, "has no address of its own"
		}
	}
	return Binding{}, ""
}

// routes picks the routes of a router that apply on a port and notes the destinations they lead to. Targets without
// a destination are dropped; the dialect has said so already.
func (b *viewBuilder) routes(router *Router, port uint16, protocol Protocol) []Route {
	var out []Route
	for _, r := range router.Routes {
		if r.Protocol != protocol || r.Port != 0 && r.Port != port {
			continue
		}
		r.Action.Destinations = slices.DeleteFunc(slices.Clone(r.Action.Destinations), func(d WeightedDestination) bool {
			return b.ix.destinations[Key{b.mesh, d.Destination}] == nil
		})
		for _, d := range r.Action.Destinations {
			b.destinations[d.Destination] = true
		}
		for _, name := range slices.Concat(r.Action.Ingress, r.Action.Egress) {
			if b.ix.destinations[Key{b.mesh, name}] != nil {
				b.destinations[name] = true
			}
		}
		out = append(out, r)
	}
	return out
}

// Destination finds a destination of the view.
func (v *View) Destination(name string) (Destination, bool) {
	i, ok := slices.BinarySearchFunc(v.Destinations, name, func(d Destination, n string) int { return strings.Compare(d.Name, n) })
	if !ok {
		return Destination{}, false
	}
	return v.Destinations[i], true
}

// Reached gives the endpoints of a destination that is found by instances, in canonical order.
func (v *View) Reached(d Destination) []Endpoint {
	var out []Endpoint
	for _, e := range v.Endpoints {
		if g := d.Discovery.Group; g == "" && e.Workload.Name == d.Workload || g != "" && slices.Contains(e.Groups, g) {
			out = append(out, e)
		}
	}
	return out
}
