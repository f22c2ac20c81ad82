package proxy

import (
	"net"
	"net/netip"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/tlsfile"
)

// destinations are the takers of captured connections, by what config.Captured has.
type destinations struct {
	// exact has addresses and ports, ports alone, and the zero value for all others.
	exact  map[netip.AddrPort]*taker
	ranges map[uint16][]rangeTaker // the smallest first
	names  map[uint16][]nameTaker
}

type rangeTaker struct {
	addresses netip.Prefix
	taker     *taker
}

type nameTaker struct {
	names []string
	taker *taker
}

// destinationsOf returns the takers of listeners. The newest one is the last: of two with the same, it has effect.
func destinationsOf(takers []*taker) *destinations {
	d := &destinations{map[netip.AddrPort]*taker{}, map[uint16][]rangeTaker{}, map[uint16][]nameTaker{}}
	for _, t := range takers {
		port := uint16(t.captured.Port)
		switch {
		case len(t.captured.ServerNames) > 0:
			d.names[port] = slices.Insert(d.names[port], 0, nameTaker{t.captured.ServerNames, t})
		case len(t.captured.Addresses) == 0:
			d.exact[netip.AddrPortFrom(netip.Addr{}, port)] = t
		}
		for _, text := range t.captured.Addresses {
			switch p, err := config.ParseRange(text); {
			case err != nil: // decoding refuses it
			case p.IsSingleIP():
				d.exact[netip.AddrPortFrom(p.Addr(), port)] = t
			default:
				d.ranges[port] = slices.Insert(d.ranges[port], 0, rangeTaker{p, t})
			}
		}
	}
	for _, all := range d.ranges {
		slices.SortStableFunc(all, func(a, b rangeTaker) int { return b.addresses.Bits() - a.addresses.Bits() })
	}
	return d
}

// find returns who takes a connection to a destination, nil if nobody does, and the connection, from which all is read
// again.
func (d *destinations) find(nc *net.TCPConn, to netip.AddrPort) (*taker, net.Conn) {
	if t := d.exact[to]; t != nil {
		return t, nc
	}
	for _, r := range d.ranges[to.Port()] {
		if r.addresses.Contains(to.Addr()) {
			return r.taker, nc
		}
	}
	conn := net.Conn(nc)
	if named := d.names[to.Port()]; len(named) > 0 && beginsTLS(nc, config.TCP) {
		var name string
		name, conn = serverName(nc)
		for _, n := range named {
			if tlsfile.AsksFor(name, n.names) {
				return n.taker, conn
			}
		}
	}
	if t := d.exact[netip.AddrPortFrom(netip.Addr{}, to.Port())]; t != nil {
		return t, conn
	}
	return d.exact[netip.AddrPort{}], conn
}
