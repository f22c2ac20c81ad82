package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// HasIPv6 reports whether the kernel supports IPv6.
func HasIPv6() bool {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return !errors.Is(err, unix.EAFNOSUPPORT)
	}
	_ = unix.Close(fd) // unused
	return true
}

// Apply replaces the tables of earlier calls with the rules, in the network namespace of the calling thread and in
// one transaction: on an error, nothing changes. It requires CAP_NET_ADMIN. If the kernel has no IPv6, its rules are
// skipped.
func Apply(rules Rules) error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("capture: open netlink: %w", err)
	}
	families := []Family{IPv4}
	if HasIPv6() {
		families = append(families, IPv6)
	}
	for _, f := range families {
		// Adding a table before deleting it is the equivalent of "delete if exists".
		conn.DelTable(conn.AddTable(netlinkTable(f)))
		for _, t := range rules.Tables {
			if t.Family != f {
				continue
			}
			if err := addTable(conn, t); err != nil {
				return fmt.Errorf("capture: table %s %s: %w", f, TableName, err)
			}
		}
	}
	if err := conn.Flush(); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w (the container requires the capability NET_ADMIN)", err)
		}
		return fmt.Errorf("capture: apply the rules: %w", err)
	}
	return nil
}

func netlinkTable(f Family) *nftables.Table {
	family := nftables.TableFamilyIPv4
	if f == IPv6 {
		family = nftables.TableFamilyIPv6
	}
	return &nftables.Table{Family: family, Name: TableName}
}

func addTable(conn *nftables.Conn, t Table) error {
	table := conn.AddTable(netlinkTable(t.Family))
	sets := map[string]*nftables.Set{}
	for _, s := range t.Sets {
		set := &nftables.Set{Table: table, Name: s.Name, KeyType: nftables.TypeInetService}
		if s.Ports == nil {
			set.Interval = true
			set.KeyType = nftables.TypeIPAddr
			if t.Family == IPv6 {
				set.KeyType = nftables.TypeIP6Addr
			}
		}
		if err := conn.AddSet(set, s.elements()); err != nil {
			return fmt.Errorf("set %s: %w", s.Name, err)
		}
		sets[s.Name] = set
	}
	accept := nftables.ChainPolicyAccept
	add := func(chain *nftables.Chain, rules []Rule) {
		if len(rules) == 0 {
			return
		}
		chain.Table, chain.Policy = table, &accept
		conn.AddChain(chain)
		for _, r := range rules {
			conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: r.exprs(t.Family, sets)})
		}
	}
	nat, raw := nftables.ChainPriorityNATDest, nftables.ChainPriorityRaw
	add(&nftables.Chain{Name: "inbound", Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPrerouting, Priority: nat},
		t.Inbound)
	add(&nftables.Chain{Name: "outbound", Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookOutput, Priority: nat},
		t.Outbound)
	add(&nftables.Chain{
		Name: "raw_inbound", Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookPrerouting, Priority: raw,
	}, t.RawInbound)
	add(&nftables.Chain{
		Name: "raw_outbound", Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookOutput, Priority: raw,
	}, t.RawOutbound)
	add(&nftables.Chain{
		Name: "guard", Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter,
	}, t.Guard)
	return nil
}

func (s Set) elements() []nftables.SetElement {
	var out []nftables.SetElement
	for _, p := range s.Ports {
		out = append(out, nftables.SetElement{Key: binaryutil.BigEndian.PutUint16(p)})
	}
	for _, p := range s.Addresses {
		// An interval is its first address and, unless it includes the last one, the first address after it.
		out = append(out, nftables.SetElement{Key: p.Addr().AsSlice()})
		if end := nextAddress(p); end.IsValid() {
			out = append(out, nftables.SetElement{Key: end.AsSlice(), IntervalEnd: true})
		}
	}
	return out
}

// nextAddress returns the first address after a prefix. It is invalid if the prefix includes the last address.
func nextAddress(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(b) // valid: it has the length of an address
	return last.Next()
}

const (
	register = 1 // register of the loaded values

	tcpDestinationPort = 2 // offset in the TCP header
	ipv4Source         = 12
	ipv6Source         = 8
	ipv4Destination    = 16
	ipv6Destination    = 24
)

func (r Rule) exprs(family Family, sets map[string]*nftables.Set) []expr.Any {
	var out []expr.Any
	if r.needsTCP() {
		out = append(out, isProtocol(unix.IPPROTO_TCP)...)
	}
	for _, m := range r.Matches {
		out = append(out, m.exprs(family, sets)...)
	}
	switch {
	case r.Drop:
		return append(out, &expr.Verdict{Kind: expr.VerdictDrop})
	case r.Reject:
		return append(out, rejectExprs()...)
	case r.Untracked:
		return append(out, &expr.Notrack{})
	case r.Address.IsValid():
		family := uint32(unix.NFPROTO_IPV4)
		if r.Address.Is6() {
			family = unix.NFPROTO_IPV6
		}
		return append(out, &expr.Immediate{Register: register, Data: r.Address.AsSlice()},
			&expr.NAT{Type: expr.NATTypeDestNAT, Family: family, RegAddrMin: register})
	case r.Redirect == 0:
		return append(out, &expr.Verdict{Kind: expr.VerdictReturn})
	}
	return append(out,
		&expr.Immediate{Register: register, Data: binaryutil.BigEndian.PutUint16(r.Redirect)},
		&expr.Redir{RegisterProtoMin: register, RegisterProtoMax: register, Flags: unix.NF_NAT_RANGE_PROTO_SPECIFIED},
	)
}

// needsTCP reports whether a rule matches a port, which requires a TCP header. nft adds the same match.
func (r Rule) needsTCP() bool {
	for _, m := range r.Matches {
		if m.Kind == DestinationPort {
			return true
		}
	}
	return false
}

// toPort matches a transport protocol and a destination port, which is at the same offset in TCP and UDP headers.
func toPort(protocol byte, port uint16) []expr.Any {
	return append(isProtocol(protocol), transportIs(tcpDestinationPort, binaryutil.BigEndian.PutUint16(port)...)...)
}

func (m Match) exprs(family Family, sets map[string]*nftables.Set) []expr.Any {
	owner := func(key expr.MetaKey) []expr.Any {
		return []expr.Any{
			&expr.Meta{Key: key, Register: register},
			&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: binaryutil.NativeEndian.PutUint32(m.ID)},
		}
	}
	in := func(base expr.PayloadBase, offset, size uint32) []expr.Any {
		set := sets[m.Set]
		return []expr.Any{
			&expr.Payload{DestRegister: register, Base: base, Offset: offset, Len: size},
			&expr.Lookup{SourceRegister: register, SetName: set.Name, SetID: set.ID},
		}
	}
	local := binary.NativeEndian.AppendUint32(nil, unix.RTN_LOCAL)
	switch m.Kind {
	case TCP:
		return isProtocol(unix.IPPROTO_TCP)
	case SocketUID:
		return owner(expr.MetaKeySKUID)
	case SocketGID:
		return owner(expr.MetaKeySKGID)
	case SourceNotLocal:
		return []expr.Any{
			&expr.Fib{Register: register, FlagSADDR: true, ResultADDRTYPE: true},
			&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: local},
		}
	case DestinationLocal:
		return []expr.Any{
			&expr.Fib{Register: register, FlagDADDR: true, ResultADDRTYPE: true},
			&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: local},
		}
	case DNSOverUDP:
		return toPort(unix.IPPROTO_UDP, dnsPort)
	case DNSOverTCP:
		return toPort(unix.IPPROTO_TCP, dnsPort)
	case PortUnreachable:
		return portUnreachableExprs(family, m.Port)
	case ConnectionRefused:
		return connectionRefusedExprs(m.Port)
	case NotRedirected:
		return notRedirectedExprs()
	case DestinationPort:
		return in(expr.PayloadBaseTransportHeader, tcpDestinationPort, 2)
	case SourceAddress:
		if family == IPv6 {
			return in(expr.PayloadBaseNetworkHeader, ipv6Source, 16)
		}
		return in(expr.PayloadBaseNetworkHeader, ipv4Source, 4)
	case DNSReplyOverUDP:
		return fromDNSPort(unix.IPPROTO_UDP)
	case DNSReplyOverTCP:
		return fromDNSPort(unix.IPPROTO_TCP)
	case DestinationAddress:
		if family == IPv6 {
			return in(expr.PayloadBaseNetworkHeader, ipv6Destination, 16)
		}
		return in(expr.PayloadBaseNetworkHeader, ipv4Destination, 4)
	}
	panic(fmt.Sprintf("capture: kind %d of match has no expression", m.Kind))
}
