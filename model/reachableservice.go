package model

import (
	"net/netip"
	"reflect"
	"slices"
	"unique"
)

// ReachableService is what a service adds to each outbound view that has it. It does not depend on workloads. It refers
// to the items of the catalog.
type ReachableService struct {
	Service *Service
	// HostNames are the names of the service in the form in which agents compare them.
	HostNames []string
	// Ports are the ports of the router, in its order.
	Ports []ReachablePort

	hosts    []string // of the bindings
	variants []reachableVariant
	aliased  *ReachableService // for the workloads of the group in GroupAliases; nil for none
}

// ReachablePort is a service on a port.
type ReachablePort struct {
	Port     uint16
	Protocol Protocol
	// Routes are those that apply on the port, in order.
	Routes []Route
	// Destinations are the targets of the routes, each once.
	Destinations []*Destination
	// Pods and OtherPods are the addresses of the pods of a headless Kubernetes Service, for streams. A connection to one
	// of Pods goes to this pod, and a connection to one of OtherPods follows the routes.
	Pods, OtherPods []netip.Addr

	features unique.Handle[featureList] // of the binding
}

// NewReachableService creates the ReachableService of a service. It reports false if the service does not exist.
func NewReachableService(c Catalog, key Key) (*ReachableService, bool) {
	service, known := c.Service(key)
	if !known {
		return nil, false
	}
	out := &ReachableService{Service: service}
	out.setHosts(service.HostNames())
	out.addPorts(c, service.Router)
	out.addAliased()
	for _, v := range service.Variants {
		variant := &ReachableService{Service: service, HostNames: out.HostNames, hosts: out.hosts}
		variant.addPorts(c, v.Router)
		variant.addAliased()
		out.variants = append(out.variants, reachableVariant{v.ClientGroup, variant})
	}
	return out, true
}

func (s *ReachableService) setHosts(hosts []string) {
	s.hosts, s.HostNames = hosts, hosts
	if slices.ContainsFunc(hosts, func(name string) bool { return hostName(name) != name }) {
		s.HostNames = nil
		for _, name := range hosts {
			s.HostNames = append(s.HostNames, hostName(name))
		}
	}
}

// addPorts adds the ports of a router.
func (s *ReachableService) addPorts(c Catalog, name string) {
	router, known := c.Router(Key{s.Service.Mesh, name})
	if !known {
		return
	}
	s.Ports = make([]ReachablePort, 0, len(router.Ports))
	for _, p := range router.Ports {
		port := ReachablePort{Port: p.Port, Protocol: p.Protocol}
		port.Routes, port.Destinations = routesOn(c, router, p.Port, p.Protocol)
		port.setPods(s.Service.Name, s.Service.Pods)
		used := needs{}
		used.binding(s.binding(&port))
		port.features = used.features()
		s.Ports = append(s.Ports, port)
	}
}

// binding returns the binding of the service on one of its ports, without addresses: they depend on the DNS mode of the
// workload.
func (s *ReachableService) binding(on *ReachablePort) *Binding {
	return &Binding{
		Service: s.Service.Name, Protocol: on.Protocol, Hosts: s.hosts, External: s.Service.External, Routes: on.Routes,
		Origin: s.Service.Origin, source: s, features: on.features,
	}
}

// RequestPorts lists the ports that take requests, in order.
func (s *ReachableService) RequestPorts() []uint16 {
	var out []uint16
	for _, p := range s.Ports {
		if p.Protocol.Requests() {
			out = append(out, p.Port)
		}
	}
	slices.Sort(out)
	return out
}

// equalExceptRoutes reports whether both are equal except for the routes of their bindings.
func (s *ReachableService) equalExceptRoutes(o *ReachableService) bool {
	return s.Service.equalExceptVariants(o.Service) && slices.Equal(s.HostNames, o.HostNames) &&
		slices.EqualFunc(s.Ports, o.Ports, func(a, b ReachablePort) bool {
			return a.Port == b.Port && a.Protocol == b.Protocol && reflect.DeepEqual(a.Destinations, b.Destinations) &&
				slices.Equal(a.Pods, b.Pods) && slices.Equal(a.OtherPods, b.OtherPods)
		})
}

// addresses returns the addresses of the service for workloads with the DNS mode, and whether their agents answer its
// names.
func (s *ReachableService) addresses(mode DNSMode) (addresses []netip.Addr, answered bool) {
	answered = mode.Answers(*s.Service)
	if answered && len(s.Service.Addresses) == 0 {
		return s.Service.Reserved, true
	}
	return s.Service.Addresses, answered
}

// routesOn selects the routes of a router for a port, and their destinations. It drops targets whose destination does
// not exist; the dialect reports a finding for them. The result shares memory with the router.
func routesOn(c Catalog, router Router, port uint16, protocol Protocol) (out []Route, destinations []*Destination) {
	found := map[string]bool{}
	exists := func(name string) bool {
		known, again := found[name]
		if !again {
			var d *Destination
			if d, known = c.Destination(Key{router.Mesh, name}); known {
				destinations = append(destinations, d)
			}
			found[name] = known
		}
		return known
	}
	missing := func(d WeightedDestination) bool { return !exists(d.Destination) }
	shared := true // all routes so far are the first of the router
	for i, r := range router.Routes {
		if r.Protocol != protocol || r.Port != 0 && r.Port != port {
			shared = false
			continue
		}
		changed := slices.ContainsFunc(r.Action.Destinations, missing)
		for _, to := range r.Action.Destinations {
			exists(to.Destination)
		}
		for _, name := range slices.Concat(r.Action.ForwardChain, r.Action.ReverseChain) {
			exists(name)
		}
		if changed {
			r.Action.Destinations, shared = slices.DeleteFunc(slices.Clone(r.Action.Destinations), missing), false
		}
		if shared {
			out = router.Routes[: i+1 : i+1]
		} else {
			out = append(out, r)
		}
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
