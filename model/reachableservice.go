package model

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"
)

// ReachableService is what a service adds to each outbound view that has it. It does not depend on workloads.
type ReachableService struct {
	Service Service
	// HostNames are the names of the service in the form in which agents compare them.
	HostNames []string
	// Ports are the ports of the router, in its order.
	Ports []ReachablePort
}

// ReachablePort is a service on a port.
type ReachablePort struct {
	Port uint16
	// Binding has no addresses: they depend on the DNS mode of the workload.
	Binding Binding
	// Destinations are the targets of the routes of the binding, each once.
	Destinations []Destination
}

// NewReachableService creates the ReachableService of a service. It reports false if the service does not exist.
func NewReachableService(c Catalog, key Key) (*ReachableService, bool) {
	service, known := c.Service(key)
	if !known {
		return nil, false
	}
	out := &ReachableService{Service: service}
	hosts := append([]string{service.Name}, service.Aliases...)
	for _, name := range hosts {
		out.HostNames = append(out.HostNames, hostName(name))
	}
	router, known := c.Router(Key{key.Mesh, service.Router})
	if !known {
		return out, true
	}
	for _, p := range router.Ports {
		port := ReachablePort{Port: p.Port, Binding: Binding{
			Service: service.Name, Protocol: p.Protocol, Hosts: hosts, External: service.External, Origin: service.Origin,
		}}
		port.Binding.Routes, port.Destinations = routesOn(c, router, p.Port, p.Protocol)
		used := needs{}
		used.binding(&port.Binding)
		port.Binding.features = slices.Sorted(maps.Keys(used))
		out.Ports = append(out.Ports, port)
	}
	return out, true
}

// RequestPorts lists the ports that take requests, in order.
func (s *ReachableService) RequestPorts() []uint16 {
	var out []uint16
	for _, p := range s.Ports {
		if p.Binding.Protocol.Requests() {
			out = append(out, p.Port)
		}
	}
	slices.Sort(out)
	return out
}

// equalExceptRoutes reports whether both are equal except for the routes of their bindings.
func (s *ReachableService) equalExceptRoutes(o *ReachableService) bool {
	return reflect.DeepEqual(s.Service, o.Service) && slices.Equal(s.HostNames, o.HostNames) &&
		slices.EqualFunc(s.Ports, o.Ports, func(a, b ReachablePort) bool {
			a.Binding.Routes, b.Binding.Routes = nil, nil
			a.Binding.features, b.Binding.features = nil, nil
			return reflect.DeepEqual(a, b)
		})
}

// addresses returns the addresses of the service for workloads with the DNS mode, and whether their agents answer its
// names.
func (s *ReachableService) addresses(mode DNSMode) (addresses []netip.Addr, answered bool) {
	answered = mode.Answers(s.Service)
	if answered && len(s.Service.Addresses) == 0 {
		return s.Service.Reserved, true
	}
	return s.Service.Addresses, answered
}

// routesOn selects the routes of a router for a port, and their destinations. It drops targets whose destination does
// not exist; the dialect reports a finding for them.
func routesOn(c Catalog, router Router, port uint16, protocol Protocol) (out []Route, destinations []Destination) {
	found := map[string]bool{}
	exists := func(name string) bool {
		known, again := found[name]
		if !again {
			var d Destination
			if d, known = c.Destination(Key{router.Mesh, name}); known {
				destinations = append(destinations, d)
			}
			found[name] = known
		}
		return known
	}
	for _, r := range router.Routes {
		if r.Protocol != protocol || r.Port != 0 && r.Port != port {
			continue
		}
		r.Action.Destinations = slices.DeleteFunc(slices.Clone(r.Action.Destinations), func(d WeightedDestination) bool {
			return !exists(d.Destination)
		})
		for _, name := range slices.Concat(r.Action.ForwardChain, r.Action.ReverseChain) {
			exists(name)
		}
		out = append(out, r)
	}
	return out, destinations
}

// destinations lists the names of all destinations of an action.
func (a Action) destinations() []string {
	var out []string
	for _, d := range a.Destinations {
		out = append(out, d.Destination)
	}
	return slices.Concat(out, a.ForwardChain, a.ReverseChain)
}
