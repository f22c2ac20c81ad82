package capture

import (
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// The ports of the proxy are for connections that are redirected to them. A connection to the port itself has no other
// original destination: the proxy would connect to itself, again and again, until it has no descriptors left.

// proxyPortsSet has the ports of the proxy.
const proxyPortsSet = "proxy_ports"

// addGuard adds the rule that refuses connections to the ports of the proxy which are not redirected, from other hosts
// and from the pod.
func (c Config) addGuard(t *Table) {
	ports := []uint16{c.EgressPort}
	if c.IngressPort != 0 {
		ports = append(ports, c.IngressPort)
	}
	t.Sets = append(t.Sets, Set{Name: proxyPortsSet, Ports: ports})
	t.Guard = []Rule{{Matches: []Match{{Kind: DestinationPort, Set: proxyPortsSet}, {Kind: NotRedirected}}, Reject: true}}
}

// translated is the status of a connection whose destination was changed: IPS_DST_NAT of the kernel.
const translated = 1 << 5

const notRedirectedText = "ct status & dnat == 0"

func notRedirectedExprs() []expr.Any {
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATUS, Register: register},
		&expr.Bitwise{
			SourceRegister: register, DestRegister: register, Len: 4,
			Mask: binaryutil.NativeEndian.PutUint32(translated), Xor: binaryutil.NativeEndian.PutUint32(0),
		},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: binaryutil.NativeEndian.PutUint32(0)},
	}
}

func rejectExprs() []expr.Any {
	return []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}}
}
