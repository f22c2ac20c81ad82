package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// outboundBuilder collects the ports, hosts and destinations of an outbound view.
type outboundBuilder struct {
	mesh         Mesh
	dns          DNSMode
	ports        map[uint16]*portBuilder
	hosts        hosts
	destinations []*Destination
	conflicts    []PortConflict
}

// newOutboundBuilder creates a builder for about size services.
func newOutboundBuilder(mesh Mesh, dns DNSMode, size int) *outboundBuilder {
	return &outboundBuilder{
		mesh: mesh, dns: dns, ports: map[uint16]*portBuilder{}, hosts: make(hosts, size),
		destinations: make([]*Destination, 0, size),
	}
}

// add adds a service.
func (b *outboundBuilder) add(service *ReachableService) {
	addresses, answered := service.addresses(b.dns)
	if answered {
		b.hosts.addService(service.HostNames, addresses)
	}
	for i := range service.Ports {
		p := &service.Ports[i]
		binding := p.Binding
		binding.Addresses, binding.source = addresses, service
		out := b.ports[p.Port]
		if out == nil {
			out = newPortBuilder(p.Port)
			b.ports[p.Port] = out
		}
		if out.has(binding) {
			continue
		}
		if other, why := out.conflict(binding); why != "" {
			b.conflicts = append(b.conflicts, PortConflict{service.Service.Name, service.Service.Origin, fmt.Sprintf(
				"%s (%s) on port %d conflicts with %s (%s): %s; it is not served",
				binding.Service, binding.Protocol, p.Port, other.Service, other.Protocol, why)})
			continue
		}
		out.add(binding)
		for j := range p.Destinations {
			b.destinations = append(b.destinations, &p.Destinations[j])
		}
	}
}

// view returns the collected outbound view.
func (b *outboundBuilder) view() OutboundView {
	out := OutboundView{egress: b.mesh.Egress, conflicts: b.conflicts}
	for _, port := range slices.Sorted(maps.Keys(b.ports)) {
		out.Outbound = append(out.Outbound, b.ports[port].sorted(b.mesh.Egress))
	}
	slices.SortStableFunc(b.destinations, func(x, y *Destination) int { return strings.Compare(x.Name, y.Name) })
	b.destinations = slices.CompactFunc(b.destinations, func(x, y *Destination) bool { return x.Name == y.Name })
	if len(b.destinations) > 0 {
		out.Destinations = make([]Destination, 0, len(b.destinations))
	}
	for _, d := range b.destinations {
		out.Destinations = append(out.Destinations, *d)
		if b.dns != DNSOff {
			b.hosts.addDestination(d)
		}
	}
	out.Hosts = b.hosts.sorted()
	return out
}
