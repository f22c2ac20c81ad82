package config

import (
	"errors"
	"fmt"
	"strings"
)

// Captured are the connections that packet rules redirect to the port of a listener. Listeners share the port: each
// gets those whose original destination it names, by address and port, by port, or all others, in this order.
// Connections that no listener takes are closed.
type Captured struct {
	// Port is the port of the original destination. Default: every port.
	Port int `json:"port,omitempty"`
	// Addresses are the IP addresses of the original destination. Default: every address.
	Addresses []string `json:"addresses,omitempty"`
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
	for _, a := range c.Addresses {
		if err := checkAddress(a); err != nil || a == "" {
			return fmt.Errorf("addresses: %q is not an IP address", a)
		}
	}
	if len(c.Addresses) > 0 && c.Port == 0 {
		return errors.New("port: is required with addresses")
	}
	return named("port", checkPort(c.Port, true))
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
