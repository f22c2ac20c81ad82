package model

import (
	"net/netip"
	"slices"
	"strings"
)

// DNSMode is which host names the DNS server of an agent answers.
type DNSMode string

const (
	// DNSUnresolved answers the names of services that the DNS of the cluster does not know, and of those that need an
	// address.
	DNSUnresolved DNSMode = "Unresolved"
	// DNSAll answers the names of all services that have an address.
	DNSAll DNSMode = "All"
	// DNSOff answers none: the DNS of the pod stays as it is.
	DNSOff DNSMode = "Off"
)

// Valid reports whether the mode is one of the constants.
func (m DNSMode) Valid() bool { return m == DNSUnresolved || m == DNSAll || m == DNSOff }

// Answers reports whether the agent answers the name of a service.
func (m DNSMode) Answers(s Service) bool {
	switch {
	case m == DNSOff, s.Private:
		return false
	case m == DNSAll:
		return true
	}
	return s.Unresolved || s.NeedsAddress
}

// Host is a host name that the DNS server of an agent answers: with its addresses, or with those of the ready endpoints
// of destinations.
type Host struct {
	// Name is in lower case, without trailing dot.
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Destinations are names, sorted.
	Destinations []string `json:"destinations,omitempty"`
}

// hostName returns the form of a host name in which names are compared.
func hostName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// hosts are the hosts of a view, by name.
type hosts map[string]Host

// addService adds the names of a service, which are host names.
func (all hosts) addService(names []string, addresses []netip.Addr) {
	if len(addresses) == 0 {
		return
	}
	for _, name := range names {
		all[name] = Host{Name: name, Addresses: addresses}
	}
}

// addDestination adds the DNS name of a destination. The name of a service takes precedence.
func (all hosts) addDestination(d *Destination) {
	if d.Discovery.DNSName == "" {
		return
	}
	name := hostName(d.Discovery.DNSName)
	h := all[name]
	if name == "" || len(h.Addresses) > 0 {
		return
	}
	all[name] = Host{Name: name, Destinations: append(h.Destinations, d.Name)}
}

// sorted lists the hosts by name.
func (all hosts) sorted() []Host {
	if len(all) == 0 {
		return nil
	}
	out := make([]Host, 0, len(all))
	for _, h := range all {
		slices.Sort(h.Destinations)
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Host) int { return strings.Compare(a.Name, b.Name) })
	return out
}
