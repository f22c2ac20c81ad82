package model

import (
	"cmp"
	"slices"
	"strings"
)

// portBuilder collects the services on one outbound port.
type portBuilder struct {
	port     uint16
	bindings []Binding
	// hosts maps lower-case host names to bindings; streams are the bindings without host names.
	hosts   map[string]int
	streams []int
}

func (p *portBuilder) sorted() Outbound {
	slices.SortStableFunc(p.bindings, func(a, b Binding) int {
		return firstNonZero(strings.Compare(a.Service, b.Service), cmp.Compare(a.Protocol, b.Protocol))
	})
	return Outbound{Port: p.port, Bindings: p.bindings}
}

func (p *portBuilder) add(b Binding) {
	if b.Protocol.Requests() {
		for _, h := range b.Hosts {
			p.hosts[strings.ToLower(h)] = len(p.bindings)
		}
	} else {
		p.streams = append(p.streams, len(p.bindings))
	}
	p.bindings = append(p.bindings, b)
}

// has reports whether the service already has a binding with the protocol.
func (p *portBuilder) has(b Binding) bool {
	same := func(i int) bool { return p.bindings[i].Service == b.Service && p.bindings[i].Protocol == b.Protocol }
	if !b.Protocol.Requests() {
		return slices.ContainsFunc(p.streams, same)
	}
	i, known := p.hosts[strings.ToLower(b.Service)]
	return known && same(i)
}

// conflict returns a binding whose traffic cannot be distinguished from the new one's, and the reason. Requests are
// distinguished by host name, ignoring case; plain streams only by their original destination address.
func (p *portBuilder) conflict(b Binding) (other Binding, why string) {
	for _, h := range b.Hosts {
		if i, known := p.hosts[strings.ToLower(h)]; known && b.Protocol.Requests() {
			return p.bindings[i], "has the same host name"
		}
	}
	for i, other := range p.bindings {
		if b.Protocol.Requests() {
			if len(p.streams) == 0 {
				break // keeps the cost independent of the number of services
			}
			if !slices.Contains(p.streams, i) {
				continue
			}
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
