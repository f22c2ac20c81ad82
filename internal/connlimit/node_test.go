package connlimit

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

func TestGateways(t *testing.T) {
	gateway := netip.MustParseAddr("10.244.1.1")
	b := gateway.As4()
	routes := "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		fmt.Sprintf("eth0\t00000000\t%08X\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", binary.NativeEndian.Uint32(b[:])) +
		"eth0\t0001F40A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
	if got := gateways4([]byte(routes)); !slices.Equal(got, []netip.Addr{gateway}) {
		t.Errorf("got %v", got)
	}
	const routes6 = "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n" +
		"00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n"
	if got := gateways6([]byte(routes6)); !slices.Equal(got, []netip.Addr{netip.MustParseAddr("fd00::1")}) {
		t.Errorf("got %v", got)
	}
	if got := gateways4([]byte("x\ny z\n")); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestNode(t *testing.T) {
	t.Setenv(NodeIPsVariable, "192.0.2.1, 2001:db8::1")
	node := Node()
	for address, want := range map[string]bool{"192.0.2.1": true, "2001:db8::1": true, "127.0.0.1": true, "192.0.2.2": false} {
		if got := node(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
