package agent

import (
	"net"
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/pod/dns"
)

// The DNS server listens on the loopback addresses of the pod, and on none of IPv6 if the kernel has no IPv6 sockets.
func TestDNSListensOnFamiliesOfKernel(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	loopback6 := slices.ContainsFunc(all, func(a net.Addr) bool { return a.String() == "::1/128" })
	a := &agent{Config: Config{DNSPort: 15053}}
	for _, hasIPv6 := range []bool{true, false} {
		var c dns.Config
		if err := a.detectFamilies(&c, hasIPv6); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(c.Listen, "127.0.0.1:15053") ||
			slices.Contains(c.Listen, "[::1]:15053") != (hasIPv6 && loopback6) || c.IPv6 && !hasIPv6 {
			t.Errorf("IPv6 in the kernel %v: got %+v", hasIPv6, c)
		}
	}
}
