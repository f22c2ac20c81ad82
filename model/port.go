package model

import (
	"cmp"
	"slices"
	"strings"
)

// portBuilder gathers the services behind a port that a workload may dial.
type portBuilder struct {
	port     uint16
	bindings []Binding
	// hosts finds bindings by host name, in lower case; streams are those without.
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

// has tells whether the service is bound with the protocol already.
func (p *portBuilder) has(b Binding) bool {
	same := func(i int) bool { return p.bindings[i].Service == b.Service && p.bindings[i].Protocol == b.Protocol }
	if !b.Protocol.Requests() {
		return slices.ContainsFunc(p.streams, same)
	}
	i, known := p.hosts[strings.ToLower(b.Service)]
	return known && same(i)
}

// conflict finds a binding that traffic for the new one could not be told from, and says why. Requests carry a host name, whose
// case does not count; plain streams can only be told apart by the address that was dialled.
func (p *portBuilder) conflict(b Binding) (other Binding, why string) {
	for _, h := range b.Hosts {
		if i, known := p.hosts[strings.ToLower(h)]; known && b.Protocol.Requests() {
			return p.bindings[i], "has the same host name"
		}
	}
	for i, other := range p.bindings {
		if b.Protocol.Requests() {
			if len(p.streams) == 0 {
				break // however many services there are
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
