package connlimit

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// NodeIPsVariable is the environment variable with the addresses of the node, separated by commas: status.hostIPs of
// the pod.
const NodeIPsVariable = "ANYMESH_NODE_IPS"

// Node returns a function that reports whether an address is that of the node of this pod, from which kubelet probes.
// These are the addresses of the environment, and the gateways of the pod: with a bridge, or with a router of its own,
// the node has the address of the gateway in the network of its pods. Loopback counts as the node.
func Node() func(netip.Addr) bool {
	var own []netip.Addr
	for _, text := range strings.Split(os.Getenv(NodeIPsVariable), ",") {
		if a, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil {
			own = append(own, a)
		}
	}
	// Without these files, on other systems, there is no gateway.
	routes4, _ := os.ReadFile("/proc/net/route")
	routes6, _ := os.ReadFile("/proc/net/ipv6_route")
	own = slices.Concat(own, gateways4(routes4), gateways6(routes6))
	return func(a netip.Addr) bool { return a.IsLoopback() || slices.Contains(own, a) }
}

// gateways4 returns the gateways of /proc/net/route: the third column is an address as a hexadecimal number in the byte
// order of the machine.
func gateways4(routes []byte) []netip.Addr {
	var out []netip.Addr
	for _, fields := range table(routes, 3) {
		raw, err := hex.DecodeString(fields[2])
		if err != nil || len(raw) != 4 {
			continue // the heading
		}
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], binary.BigEndian.Uint32(raw))
		if a := netip.AddrFrom4(b); !a.IsUnspecified() {
			out = append(out, a)
		}
	}
	return out
}

// gateways6 returns the gateways of /proc/net/ipv6_route: the fifth column is an address in hexadecimal digits.
func gateways6(routes []byte) []netip.Addr {
	var out []netip.Addr
	for _, fields := range table(routes, 5) {
		raw, err := hex.DecodeString(fields[4])
		if err != nil || len(raw) != 16 {
			continue
		}
		if a := netip.AddrFrom16([16]byte(raw)); !a.IsUnspecified() {
			out = append(out, a)
		}
	}
	return out
}

// table splits lines into fields. Lines with fewer fields are left out.
func table(text []byte, atLeast int) [][]string {
	var out [][]string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) >= atLeast {
			out = append(out, fields)
		}
	}
	return out
}
