package model

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// outboundBuilder collects the ports, hosts and destinations of an outbound view.
type outboundBuilder struct {
	mesh         Mesh
	dns          DNSMode
	before       *OutboundView // the previous outbound view, for the sizes of ports; may be nil
	ports        map[uint16]*portBuilder
	hosts        hosts
	destinations []outboundDestination
	conflicts    []Conflict
}

// outboundDestination is a destination of a service, with the client policy of the service.
type outboundDestination struct {
	*Destination
	service requestedService // zero for a destination of inbound routes, whose TLS is known
}

// tls returns the TLS of connections to the destination.
func (d outboundDestination) tls() *ClientTLS { return d.service.policy.tls(d.Destination) }

// newOutboundBuilder creates a builder for about size services, most of them those of before.
func newOutboundBuilder(mesh Mesh, dns DNSMode, size int, before *OutboundView) *outboundBuilder {
	return &outboundBuilder{
		mesh: mesh, dns: dns, before: before, ports: map[uint16]*portBuilder{}, hosts: make(hosts, size),
		destinations: make([]outboundDestination, 0, size),
	}
}

// add adds a service.
func (b *outboundBuilder) add(service requestedService) {
	addresses, answered := service.addresses(b.dns)
	if answered {
		b.hosts.addService(service.HostNames, addresses)
	}
	for i := range service.Ports {
		p := &service.Ports[i]
		binding := *service.binding(p)
		binding.Addresses, binding.Pods, binding.OtherPods = addresses, p.Pods, p.OtherPods
		out := b.ports[p.Port]
		if out == nil {
			out = newPortBuilder(p.Port, b.before.bindings(p.Port)+1)
			b.ports[p.Port] = out
		}
		if out.has(binding) {
			continue
		}
		if other, why := out.conflict(binding); why != "" {
			text := fmt.Sprintf(
				"%s (%s) on port %d conflicts with %s (%s): %s; it is not served",
				binding.Service, binding.Protocol, p.Port, other.Service, other.Protocol, why)
			b.conflicts = append(b.conflicts, service.conflict(CodePortConflict, text))
			continue
		}
		out.add(binding)
		if !binding.Protocol.Requests() && !binding.hasAddress() && !b.mesh.AnyAddress {
			text := fmt.Sprintf("%s (%s) has no address of its own: connections to every address on port %d go to it; with the DNS mode %s, "+
				"its name has an address", binding.Service, binding.Protocol, p.Port, DNSAll)
			if service.Service.Headless {
				text = fmt.Sprintf("%s (%s) has no pod: until it has one, connections to every address on port %d go to it",
					binding.Service, binding.Protocol, p.Port)
			}
			b.conflicts = append(b.conflicts, service.conflict(CodeAnyAddress, text))
		}
		for j := range p.Destinations {
			b.destinations = append(b.destinations, outboundDestination{p.Destinations[j], service})
		}
	}
}

// view returns the collected outbound view.
func (b *outboundBuilder) view() OutboundView {
	out := OutboundView{egress: b.mesh.Egress}
	for _, port := range slices.Sorted(maps.Keys(b.ports)) {
		out.Outbound = append(out.Outbound, b.ports[port].sorted(b.mesh))
	}
	out.Destinations = b.reached()
	out.conflicts = b.conflicts
	out.Hosts = b.hosts.sorted()
	return out
}

// reached returns the collected destinations by name, each once. The first of several services decides how a
// destination is reached.
func (b *outboundBuilder) reached() []Destination {
	if len(b.destinations) == 0 {
		return nil
	}
	slices.SortStableFunc(b.destinations, func(x, y outboundDestination) int { return strings.Compare(x.Name, y.Name) })
	out := make([]Destination, 0, len(b.destinations))
	var policy *ClientPolicy // of the last one
	for _, d := range b.destinations {
		if n := len(out); n > 0 && out[n-1].Name == d.Name {
			if d.service.ReachableService != nil && d.service.policy != policy && !reflect.DeepEqual(d.tls(), out[n-1].TLS) {
				b.conflicts = append(b.conflicts, d.service.conflict(CodeInvalidField,
					"the client policy has no effect on connections to "+d.Name+": that of another backend applies"))
			}
			continue
		}
		reached := *d.Destination
		reached.TLS = d.tls()
		out, policy = append(out, reached), d.service.policy
		if b.dns != DNSOff {
			b.hosts.addDestination(d.Destination)
		}
	}
	return out
}

// conflict returns a conflict of the service.
func (s requestedService) conflict(code Code, text string) Conflict {
	return Conflict{s.Service.Name, code, s.group, s.Service.Origin, text}
}
