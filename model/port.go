package model

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// portBuilder collects the services on one outbound port.
type portBuilder struct {
	port     uint16
	bindings []Binding
	// hosts maps lower-case host names to the bindings of requests.
	hosts map[string]int
	// tcp includes the bindings of requests; udp is a port of its own.
	tcp, udp transport
}

// transport lists the bindings of one transport protocol on a port, by what tells them apart.
type transport struct {
	// all are the bindings, streams those without host names.
	all, streams []int
	// addresses maps addresses to bindings; of several requests on one address it has the first.
	addresses map[netip.Addr]int
}

// newPortBuilder creates a builder for about size bindings.
func newPortBuilder(port uint16, size int) *portBuilder {
	return &portBuilder{
		port: port, hosts: make(map[string]int, size), bindings: make([]Binding, 0, size),
		tcp: transport{all: make([]int, 0, size), addresses: make(map[netip.Addr]int, addressesPerBinding*size)},
		udp: transport{addresses: map[netip.Addr]int{}},
	}
}

// addressesPerBinding is the usual number of addresses of a binding: one of each family.
const addressesPerBinding = 2

func (p *portBuilder) transport(protocol Protocol) *transport {
	if protocol == UDP {
		return &p.udp
	}
	return &p.tcp
}

func (p *portBuilder) sorted(mesh Mesh) Outbound {
	for i := range p.bindings {
		b := &p.bindings[i]
		if b.Protocol.Requests() {
			b.MatchAddress = mesh.Egress == EgressAllow && p.separatesRequests()
		} else {
			b.MatchAddress = len(p.transport(b.Protocol).all) > 1 || !mesh.AnyAddress && b.hasAddress()
		}
	}
	slices.SortStableFunc(p.bindings, compareBindings)
	// Without much spare capacity: bindings are most of the memory of an outbound view.
	if spare := cap(p.bindings) - len(p.bindings); spare > len(p.bindings)/16 {
		p.bindings = append(make([]Binding, 0, len(p.bindings)), p.bindings...)
	}
	return Outbound{Port: p.port, Bindings: slices.Clip(p.bindings)}
}

// separatesRequests reports whether addresses tell all requests from streams to undeclared addresses.
func (p *portBuilder) separatesRequests() bool {
	return len(p.tcp.streams) > 0 && !slices.ContainsFunc(p.bindings, func(b Binding) bool {
		return b.Protocol.Requests() && len(b.Addresses) == 0
	})
}

func (p *portBuilder) add(b Binding) {
	index, t := len(p.bindings), p.transport(b.Protocol)
	if b.Protocol.Requests() {
		for _, h := range b.Hosts {
			p.hosts[strings.ToLower(h)] = index
		}
	} else {
		t.streams = append(t.streams, index)
	}
	t.all = append(t.all, index)
	for _, all := range [...][]netip.Addr{b.Addresses, b.Pods, b.OtherPods} {
		for _, a := range all {
			if _, taken := t.addresses[a]; !taken {
				t.addresses[a] = index
			}
		}
	}
	p.bindings = append(p.bindings, b)
}

// has reports whether the service already has a binding with the protocol.
func (p *portBuilder) has(b Binding) bool {
	same := func(i int) bool { return p.bindings[i].Service == b.Service && p.bindings[i].Protocol == b.Protocol }
	if !b.Protocol.Requests() {
		return slices.ContainsFunc(p.transport(b.Protocol).streams, same)
	}
	i, known := p.hosts[strings.ToLower(b.Service)]
	return known && same(i)
}

// conflict returns a binding whose traffic cannot be distinguished from the new one's, and the reason. Requests are
// distinguished by host name, ignoring case; plain streams only by their original destination address.
func (p *portBuilder) conflict(b Binding) (other Binding, why string) {
	t := p.transport(b.Protocol)
	if b.Protocol.Requests() {
		for _, h := range b.Hosts {
			if i, known := p.hosts[strings.ToLower(h)]; known {
				return p.bindings[i], "both have the host name " + h
			}
		}
	} else if !b.hasAddress() && len(t.all) > 0 {
		return p.bindings[t.all[0]], b.Service + " has no address of its own"
	}
	// A stream without an address is alone on its port.
	if len(t.streams) == 1 && !p.bindings[t.streams[0]].hasAddress() {
		other = p.bindings[t.streams[0]]
		return other, other.Service + " has no address of its own"
	}
	for _, all := range [...][]netip.Addr{b.Addresses, b.Pods, b.OtherPods} {
		for _, a := range all {
			i, taken := t.addresses[a]
			if taken && (!b.Protocol.Requests() || !p.bindings[i].Protocol.Requests()) {
				return p.bindings[i], "both have the address " + a.String()
			}
		}
	}
	return Binding{}, ""
}

// RequestAddresses returns the addresses to which connections must go to be decoded as requests, sorted. Without any,
// no address is required.
func (o *Outbound) RequestAddresses() []netip.Addr {
	var out []netip.Addr
	for _, b := range o.Bindings {
		if b.Protocol.Requests() && b.MatchAddress {
			out = append(out, b.Addresses...)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// find returns the binding for a request, and whether its connection is decoded as requests. That of AnyHost is last.
func (o *Outbound) find(r Request) (binding *Binding, requests bool) {
	var others *Binding
	decoded := o.RequestAddresses()
	undecoded := len(decoded) > 0 && r.Address.IsValid() && !slices.Contains(decoded, r.Address)
	for i := range o.Bindings {
		b := &o.Bindings[i]
		if b.Protocol.Requests() {
			if undecoded {
				continue
			}
			requests = true
			switch {
			case !r.Protocol.Requests():
			case b.serves(r.Host, o.Port):
				return b, true
			case slices.Contains(b.Hosts, AnyHost):
				others = b
			}
		} else if b.matches(r.Address) && b.Protocol == UDP == (r.Protocol == UDP) {
			return b, false
		}
	}
	return others, requests
}

// serves reports whether a Host header, with or without port, is a host name of the service.
func (b *Binding) serves(host string, port uint16) bool {
	host = strings.ToLower(canonicalHost(host))
	if b.External {
		host, _, _ = strings.Cut(host, ":")
	} else {
		host = strings.TrimSuffix(host, ":"+strconv.Itoa(int(port)))
	}
	return slices.ContainsFunc(b.Hosts, func(h string) bool { return strings.ToLower(h) == host })
}
