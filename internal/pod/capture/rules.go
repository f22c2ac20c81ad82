package capture

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// TableName is the name of the table in both families.
const TableName = "anymesh"

// Family is an address family in the syntax of nft.
type Family string

// Address families.
const (
	IPv4 Family = "ip"
	IPv6 Family = "ip6"
)

// Rules is the desired state of the kernel: a table for each address family. A family without a table has no table
// named TableName.
type Rules struct {
	Tables []Table
}

// Table has the rules of one family.
type Table struct {
	Family   Family
	Sets     []Set
	Inbound  []Rule // hook prerouting
	Outbound []Rule // hook output
	// The same hooks, before connection tracking.
	RawInbound  []Rule
	RawOutbound []Rule
	Guard       []Rule // hook input
}

// Set is a named set of ports or of addresses.
type Set struct {
	Name      string
	Ports     []uint16
	Addresses []netip.Prefix
}

// Rule applies if all matches apply. It redirects to a local port or to an address, drops the packet, resets the
// connection, or exempts the packet from connection tracking, or else accepts it unchanged.
type Rule struct {
	Matches   []Match
	Address   netip.Addr
	Redirect  uint16
	Drop      bool
	Reject    bool
	Untracked bool
}

// Match is a condition on a packet or on its socket.
type Match struct {
	Kind Kind
	ID   uint32 // for SocketUID and SocketGID
	Set  string // for DestinationPort, DestinationAddress and SourceAddress
	Port uint16 // for PortUnreachable and ConnectionRefused
}

// Kind is the kind of a match.
type Kind int

// Kinds of matches.
const (
	TCP Kind = iota
	SocketUID
	SocketGID
	SourceNotLocal     // the source is not a local address
	DestinationLocal   // the destination is a local address
	DestinationPort    // is in a set
	DestinationAddress // is in a set
	DNSOverUDP         // UDP to port 53
	DNSOverTCP         // TCP to port 53
	SourceAddress      // is in a set
	DNSReplyOverUDP    // UDP from port 53
	DNSReplyOverTCP    // TCP from port 53
	PortUnreachable    // the ICMP message about a UDP packet to the port
	ConnectionRefused  // the TCP reset that refuses a connection to the port
	NotRedirected      // the connection is not redirected
)

const (
	appPortsSet         = "app_ports"
	openPortsSet        = "open_ports"
	ignoredPortsSet     = "ignored_ports"
	ignoredAddressesSet = "ignored_addresses"
	includedAddresses   = "included_addresses"
	nameserversSet      = "nameservers"
)

// Rules returns the rules of the configuration.
func (c Config) Rules() Rules {
	if !c.Enabled {
		return Rules{}
	}
	r := Rules{Tables: []Table{c.table(IPv4), {Family: IPv6}}}
	if c.IPv6 {
		r.Tables[1] = c.table(IPv6)
	}
	for i := range r.Tables {
		c.addGuard(&r.Tables[i])
	}
	return r
}

func (c Config) table(family Family) Table {
	t := Table{
		Family: family, Sets: []Set{{Name: LoopbackSet, Addresses: []netip.Prefix{loopbacks[family]}}},
	}
	if len(c.AppPorts) > 0 {
		t.Sets = append(t.Sets, Set{Name: appPortsSet, Ports: c.AppPorts})
		t.Inbound = []Rule{{
			Matches:  []Match{{Kind: SourceNotLocal}, {Kind: DestinationPort, Set: appPortsSet}},
			Redirect: c.IngressPort,
		}}
	}
	if len(c.OpenPorts) > 0 {
		t.Sets = append(t.Sets, Set{Name: openPortsSet, Ports: c.OpenPorts})
		t.Inbound = append(t.Inbound, Rule{Matches: []Match{{Kind: DestinationPort, Set: openPortsSet}}})
	}
	if c.AllAppPorts {
		t.Inbound = append(t.Inbound, Rule{Matches: []Match{{Kind: SourceNotLocal}, {Kind: TCP}}, Redirect: c.IngressPort})
	}
	c.addApplication(&t)
	c.addOwnPod(&t)
	bypass := func(m Match) { t.Outbound = append(t.Outbound, Rule{Matches: []Match{m}}) }
	if c.UID != nil {
		bypass(Match{Kind: SocketUID, ID: *c.UID})
	}
	if c.GID != nil {
		bypass(Match{Kind: SocketGID, ID: *c.GID})
	}
	bypass(Match{Kind: DestinationLocal})
	if len(c.IgnoredPorts) > 0 {
		t.Sets = append(t.Sets, Set{Name: ignoredPortsSet, Ports: c.IgnoredPorts})
		bypass(Match{Kind: DestinationPort, Set: ignoredPortsSet})
	}
	if own := filterFamily(c.IgnoredAddresses, family); len(own) > 0 {
		t.Sets = append(t.Sets, Set{Name: ignoredAddressesSet, Addresses: own})
		bypass(Match{Kind: DestinationAddress, Set: ignoredAddressesSet})
	}
	if own := filterFamily(c.Nameservers, family); len(own) > 0 && c.capturesDNS() {
		t.Sets = append(t.Sets, Set{Name: nameserversSet, Addresses: own})
		for _, kind := range []Kind{DNSOverUDP, DNSOverTCP} {
			t.Outbound = append(t.Outbound, Rule{
				Matches: []Match{{Kind: DestinationAddress, Set: nameserversSet}, {Kind: kind}}, Redirect: c.DNSPort,
			})
		}
		t.RawInbound, t.RawOutbound = c.untracked()
		t.RawOutbound = append(t.RawOutbound, refusals(c.DNSPort)...)
	}
	captured := Rule{Matches: []Match{{Kind: TCP}}, Redirect: c.EgressPort}
	if len(c.IncludedAddresses) > 0 {
		own := filterFamily(c.IncludedAddresses, family)
		if len(own) == 0 {
			return t
		}
		t.Sets = append(t.Sets, Set{Name: includedAddresses, Addresses: own})
		captured.Matches = append(captured.Matches, Match{Kind: DestinationAddress, Set: includedAddresses})
	}
	t.Outbound = append(t.Outbound, captured)
	return t
}

// dnsPort is the port of DNS servers.
const dnsPort = 53

// capturesDNS reports whether DNS questions go to the agent: not if their port is excluded from capture.
func (c Config) capturesDNS() bool {
	return c.DNSPort != 0 && !slices.Contains(c.IgnoredPorts, dnsPort)
}

func filterFamily(all []netip.Prefix, family Family) []netip.Prefix {
	var own []netip.Prefix
	for _, p := range all {
		if p.Addr().Is4() == (family == IPv4) {
			own = append(own, p)
		}
	}
	return own
}

// String returns the rules as input of "nft -f".
func (r Rules) String() string {
	var b strings.Builder
	for _, f := range []Family{IPv4, IPv6} {
		fmt.Fprintf(&b, "table %s %s\ndelete table %s %s\n", f, TableName, f, TableName)
	}
	for _, t := range r.Tables {
		t.write(&b)
	}
	return b.String()
}

func (t Table) write(b *strings.Builder) {
	fmt.Fprintf(b, "table %s %s {\n", t.Family, TableName)
	for _, s := range t.Sets {
		fmt.Fprintf(b, "\tset %s {\n\t\t%s\n\t}\n", s.Name, s.text(t.Family))
	}
	if len(t.Inbound) > 0 {
		writeChain(b, t.Family, "inbound", "nat hook prerouting priority -100", t.Inbound)
	}
	if len(t.Outbound) > 0 {
		writeChain(b, t.Family, "outbound", "nat hook output priority -100", t.Outbound)
	}
	if len(t.RawInbound) > 0 {
		writeChain(b, t.Family, "raw_inbound", "filter hook prerouting priority -300", t.RawInbound)
	}
	if len(t.RawOutbound) > 0 {
		writeChain(b, t.Family, "raw_outbound", "filter hook output priority -300", t.RawOutbound)
	}
	if len(t.Guard) > 0 {
		writeChain(b, t.Family, "guard", "filter hook input priority 0", t.Guard)
	}
	b.WriteString("}\n")
}

func (s Set) text(family Family) string {
	var elements []string
	for _, p := range s.Ports {
		elements = append(elements, fmt.Sprint(p))
	}
	for _, a := range s.Addresses {
		elements = append(elements, a.String())
	}
	kind := "type inet_service"
	if s.Ports == nil {
		kind = map[Family]string{IPv4: "type ipv4_addr", IPv6: "type ipv6_addr"}[family] + "; flags interval"
	}
	return kind + "; elements = { " + strings.Join(elements, ", ") + " }"
}

func writeChain(b *strings.Builder, family Family, name, kind string, rules []Rule) {
	fmt.Fprintf(b, "\tchain %s {\n\t\ttype %s; policy accept;\n", name, kind)
	for _, r := range rules {
		b.WriteString("\t\t")
		for _, m := range r.Matches {
			b.WriteString(m.text(family) + " ")
		}
		switch {
		case r.Drop:
			b.WriteString("drop\n")
		case r.Reject:
			b.WriteString("reject with tcp reset\n")
		case r.Untracked:
			b.WriteString("notrack\n")
		case r.Address.IsValid():
			fmt.Fprintf(b, "dnat to %s\n", r.Address)
		case r.Redirect == 0:
			b.WriteString("return\n")
		default:
			fmt.Fprintf(b, "redirect to :%d\n", r.Redirect)
		}
	}
	b.WriteString("\t}\n")
}

func (m Match) text(family Family) string {
	switch m.Kind {
	case TCP:
		return "meta l4proto tcp"
	case SocketUID:
		return fmt.Sprintf("meta skuid %d", m.ID)
	case SocketGID:
		return fmt.Sprintf("meta skgid %d", m.ID)
	case SourceNotLocal:
		return "fib saddr type != local"
	case DestinationLocal:
		return "fib daddr type local"
	case DestinationPort:
		return "tcp dport @" + m.Set
	case DNSOverUDP:
		return fmt.Sprintf("udp dport %d", dnsPort)
	case DNSOverTCP:
		return fmt.Sprintf("tcp dport %d", dnsPort)
	case DestinationAddress:
		return fmt.Sprintf("%s daddr @%s", family, m.Set)
	case SourceAddress:
		return fmt.Sprintf("%s saddr @%s", family, m.Set)
	case DNSReplyOverUDP:
		return fmt.Sprintf("udp sport %d", dnsPort)
	case DNSReplyOverTCP:
		return fmt.Sprintf("tcp sport %d", dnsPort)
	case PortUnreachable:
		return portUnreachableText(family, m.Port)
	case ConnectionRefused:
		return connectionRefusedText(m.Port)
	case NotRedirected:
		return notRedirectedText
	}
	panic(fmt.Sprintf("capture: kind %d of match has no text", m.Kind))
}
