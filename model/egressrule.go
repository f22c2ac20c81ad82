package model

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// EgressRule passes connections of a workload to their original destination although Mesh.Egress denies them. It has
// Addresses, ServerNames, or neither. A service with the address of a connection takes precedence over rules, and a
// service that takes all connections of its port over rules with neither.
type EgressRule struct {
	Port uint16 `json:"port"`
	// Addresses are ranges of destination addresses.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	// ServerNames are server names of TLS connections to any address ("*.domain" is a suffix). Whether the destination has
	// the name is not checked.
	ServerNames []string `json:"serverNames,omitempty"`
	Origin      Origin   `json:"origin,omitzero"`
}

// The features of egress rules.
const (
	egressAddresses   Feature = "egress.addresses"
	egressServerNames Feature = "egress.serverNames"
	egressPorts       Feature = "egress.ports"
)

func (e *EgressRule) feature() Feature {
	switch {
	case len(e.Addresses) > 0:
		return egressAddresses
	case len(e.ServerNames) > 0:
		return egressServerNames
	}
	return egressPorts
}

// Compare orders rules by port and content.
func (e EgressRule) Compare(o EgressRule) int {
	return firstNonZero(cmp.Compare(e.Port, o.Port), slices.CompareFunc(e.Addresses, o.Addresses, comparePrefixes),
		slices.Compare(e.ServerNames, o.ServerNames), e.Origin.Compare(o.Origin))
}

// includes reports whether the rule is about a connection.
func (e *EgressRule) includes(r Request) bool {
	switch e.feature() {
	case egressAddresses:
		return slices.ContainsFunc(e.Addresses, func(p netip.Prefix) bool { return p.Contains(r.Address) })
	case egressServerNames:
		return r.ServerName != "" &&
			slices.ContainsFunc(e.ServerNames, func(n string) bool { return hostMatches(n, r.ServerName) })
	}
	return true
}

// String describes the connections of the rule.
func (e *EgressRule) String() string {
	switch e.feature() {
	case egressAddresses:
		return "connections to " + (&ClientRanges{Allowed: e.Addresses}).String()
	case egressServerNames:
		return "TLS connections to " + strings.Join(e.ServerNames, ", ")
	}
	return "connections to every address"
}

// egressRule returns the rule that passes a connection, or nil.
func (v *View) egressRule(r Request) *EgressRule {
	if r.Protocol == UDP || v.Mesh.Egress == EgressAllow {
		return nil
	}
	out := v.port(r.Port)
	if out != nil && slices.ContainsFunc(out.Bindings, func(b Binding) bool {
		return !b.Protocol.Requests() && b.Protocol != UDP && b.MatchAddress && b.matches(r.Address)
	}) {
		return nil
	}
	for _, feature := range []Feature{egressAddresses, egressServerNames, egressPorts} {
		if feature == egressPorts && out != nil && out.TakesAll() {
			return nil
		}
		for i := range v.Workload.EgressRules {
			if e := &v.Workload.EgressRules[i]; e.Port == r.Port && e.feature() == feature && e.includes(r) {
				return e
			}
		}
	}
	return nil
}

// TakesAll reports whether a service on the port takes the connections to all addresses that no other one has.
func (o *Outbound) TakesAll() bool {
	return slices.ContainsFunc(o.Bindings, func(b Binding) bool { return b.Protocol != UDP && !b.MatchAddress })
}
