package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Captured are the connections that packet rules redirect to the port of a listener. Listeners share the port: each
// gets those whose original destination it names, by address and port, by range of addresses and port (the smallest
// range first), by server name and port, by port, or all others, in this order. Connections that no listener takes are
// closed.
type Captured struct {
	// Port is the port of the original destination. Default: every port.
	Port int `json:"port,omitempty"`
	// Addresses are the IP addresses, or ranges of them, of the original destination. Default: every address.
	Addresses []string `json:"addresses,omitempty"`
	// ServerNames are names that clients of TLS ask for; *.domain is a suffix. TLS is forwarded. While a listener has
	// names, the others wait for the first byte of connections to the port that they take whatever the address is, up to a
	// second. Default: all connections.
	ServerNames []string `json:"server_names,omitempty"`
}

// Dynamic says where a cluster without endpoints connects to.
type Dynamic string

// Where clusters without endpoints connect to: the original destination of the captured connection, or the server name
// that the client of a listener with sni asks for, at the port of the cluster.
const (
	ToOriginal   Dynamic = "original"
	ToServerName Dynamic = "server_name"
)

// HostRules are the rules for some hosts.
type HostRules struct {
	// Hosts are host names in any case. With a port, the field Host must have it; NAME:* matches every port. A name
	// without port matches a field without one.
	Hosts []string `json:"hosts"`
	// Rules is the name of the rule list that decides.
	Rules string `json:"rules"`
}

func (c *Captured) check(map[string]bool) error {
	if err := checkRanges(c.Addresses); err != nil {
		return err
	}
	switch {
	case len(c.Addresses)+len(c.ServerNames) > 0 && c.Port == 0:
		return errors.New("port: is required with addresses and server_names")
	case len(c.Addresses) > 0 && len(c.ServerNames) > 0:
		return errors.New("server_names: addresses take all connections")
	}
	return named("port", checkPort(c.Port, true))
}

// ParseRange returns the range of an address, or of a range.
func ParseRange(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

// InRanges reports whether an address is in one of some ranges.
func InRanges(a netip.Addr, ranges []string) bool {
	return slices.ContainsFunc(ranges, func(text string) bool {
		p, err := ParseRange(text)
		return err == nil && p.Contains(a)
	})
}

func checkRanges(all []string) error {
	for _, text := range all {
		if _, err := ParseRange(text); err != nil {
			return fmt.Errorf("addresses: %q is not an IP address or a range of them", text)
		}
	}
	return nil
}

func (h *HostRules) check(set map[string]bool) error {
	if !set["hosts"] || !set["rules"] {
		return errors.New("hosts: hosts and rules are required")
	}
	for _, host := range h.Hosts {
		if host == "" || strings.ContainsAny(host, " \t") {
			return fmt.Errorf("hosts: %q is no host name", host)
		}
	}
	return named("rules", checkName(h.Rules))
}

func (s *ClusterSpec) checkDynamic() error {
	switch s.To {
	case "", ToOriginal:
	case ToServerName:
		if s.Port == 0 {
			return errors.New("port: is required with to: server_name")
		}
	default:
		return fmt.Errorf("to: %q is none of original and server_name", s.To)
	}
	if s.Family != 0 && s.Family != 4 && s.Family != 6 {
		return fmt.Errorf("family: must be 4 or 6, is %d", s.Family)
	}
	return nil
}
