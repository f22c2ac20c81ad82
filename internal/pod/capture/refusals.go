package capture

import (
	"fmt"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// While the agent restarts, no process listens on its DNS port. The kernel then refuses questions: resolvers report
// the error to the application at once. Without the refusal, they repeat the question after their timeout (2.5 s to
// 5 s), and the kernel repeats the SYN of a connection after 1 s. Both reach the restarted agent.
//
// The rules drop only refusals to clients in the pod. They apply before connection tracking, which forgets a refused
// connection. A reset of an established connection is not dropped: nothing repeats its question.

// refusals returns the rules that drop refusals by a local port.
func refusals(port uint16) []Rule {
	var out []Rule
	for _, kind := range []Kind{PortUnreachable, ConnectionRefused} {
		out = append(out, Rule{Matches: []Match{{Kind: kind, Port: port}, {Kind: DestinationLocal}}, Drop: true})
	}
	return out
}

// icmp has the numbers of the ICMP message "port unreachable" of a family. The message contains the IP header and the
// start of the UDP header of the refused packet.
type icmp struct {
	name               string
	protocol           byte
	kind, code         byte
	refusedDestination uint32 // offset of the port of the refused packet, which has no IP options
}

var portUnreachable = map[Family]icmp{
	IPv4: {"icmp", unix.IPPROTO_ICMP, 3, 3, 8 + 20 + 2},     // RFC 792
	IPv6: {"icmpv6", unix.IPPROTO_ICMPV6, 1, 4, 8 + 40 + 2}, // RFC 4443, section 3.1
}

func portUnreachableText(family Family, port uint16) string {
	m := portUnreachable[family]
	return fmt.Sprintf("%s type %d %s code %d @th,%d,16 %d", m.name, m.kind, m.name, m.code, m.refusedDestination*8, port)
}

func portUnreachableExprs(family Family, port uint16) []expr.Any {
	m := portUnreachable[family]
	out := isProtocol(m.protocol)
	out = append(out, transportIs(0, m.kind)...)
	out = append(out, transportIs(1, m.code)...)
	return append(out, transportIs(m.refusedDestination, binaryutil.BigEndian.PutUint16(port)...)...)
}

// A reset that refuses a SYN has sequence number 0 and acknowledges the SYN (RFC 9293, section 3.10.7.1).
const (
	tcpSequence  = 4 // offset in the TCP header
	tcpFlags     = 13
	refusalFlags = 0x14 // RST and ACK
)

func connectionRefusedText(port uint16) string {
	return fmt.Sprintf("tcp sport %d tcp flags == %#x tcp sequence 0", port, refusalFlags)
}

func connectionRefusedExprs(port uint16) []expr.Any {
	out := isProtocol(unix.IPPROTO_TCP)
	out = append(out, transportIs(sourcePort, binaryutil.BigEndian.PutUint16(port)...)...)
	out = append(out, transportIs(tcpFlags, refusalFlags)...)
	return append(out, transportIs(tcpSequence, 0, 0, 0, 0)...)
}

func isProtocol(protocol byte) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{protocol}},
	}
}

// transportIs matches bytes at an offset after the IP header.
func transportIs(offset uint32, want ...byte) []expr.Any {
	return []expr.Any{
		&expr.Payload{
			DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: uint32(len(want)),
		},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: want},
	}
}
