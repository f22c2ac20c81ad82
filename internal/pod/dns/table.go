package dns

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
)

// maxTTL is the limit of RFC 2181, section 8.
const maxTTL = 1<<31 - 1

// Record is the answer for a name.
type Record struct {
	Addresses []netip.Addr // of both families
	TTL       uint32       // seconds; also of negative answers
	// Pending means that the addresses are not known yet. Questions for the name wait until SetNames replaces the record;
	// see Config.Requested.
	Pending bool
}

// entry is a record with the addresses that may be answered, by family.
type entry struct {
	name       string // in the table
	ipv4, ipv6 []netip.Addr
	ttl        uint32
	pending    bool
}

// SetNames replaces the table of names atomically. Keys are lower-case host names without trailing dot. The server
// keeps no reference to the map or its records.
func (s *Server) SetNames(records map[string]Record) {
	names := make(map[string]*entry, len(records))
	for name, r := range records {
		if name == "" {
			continue // would be the root zone
		}
		e := &entry{name: name, ttl: min(r.TTL, maxTTL), pending: r.Pending}
		for _, a := range r.Addresses {
			switch a = a.Unmap().WithZone(""); {
			case a.Is4() && s.ipv4:
				e.ipv4 = append(e.ipv4, a)
			case a.Is6() && s.ipv6:
				e.ipv6 = append(e.ipv6, a)
			}
		}
		names[name] = e
	}
	s.names.Store(&names)
	close(*s.replaced.Swap(newSignal()))
}

func newSignal() *chan struct{} {
	c := make(chan struct{})
	return &c
}

// lookup finds a lower-case name in the table: the name itself, or else the name without a search domain.
func (s *Server) lookup(name []byte) *entry {
	names := *s.names.Load()
	if e := names[string(name)]; e != nil {
		return e
	}
	for _, suffix := range s.search {
		if len(name) > len(suffix) && string(name[len(name)-len(suffix):]) == suffix {
			if e := names[string(name[:len(name)-len(suffix)])]; e != nil {
				return e
			}
		}
	}
	return nil
}

// shuffled returns the addresses in random order, so that clients which use the first one are spread.
func shuffled(addresses []netip.Addr) []netip.Addr {
	if len(addresses) < 2 {
		return addresses
	}
	out := slices.Clone(addresses)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// searchSuffixes returns what the search domains add to a name: ".ns.svc.cluster.local".
func searchSuffixes(domains []string) []string {
	var out []string
	for _, d := range domains {
		if d = strings.ToLower(strings.Trim(d, ".")); d != "" {
			out = append(out, "."+d)
		}
	}
	return out
}
