package capture

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

func requireRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("creating network namespaces requires root")
	}
}

// newPodNetns creates a network namespace of a pod with an application on 8080 and 8081 and a proxy, and one of an
// external host with a server on several ports of 10.0.0.2, fd00::2, 10.9.0.1 and fd09::1.
func newPodNetns(t *testing.T) (pod, outside *netns) {
	t.Helper()
	requireRoot(t)
	pod, outside = newNetns(t, "pod"), newNetns(t, "outside")
	connectVeth(pod, outside)
	outside.addAddresses("eth1", "10.0.0.2/24", "fd00::2/64")
	outside.addAddresses("lo", "10.9.0.1/32", "fd09::1/128")
	pod.addAddresses("eth0", "10.0.0.1/24", "fd00::1/64")
	pod.addRoute("10.9.0.0/16", "10.0.0.2")
	pod.addRoute("fd09::/16", "fd00::2")

	says := func(what string) func(*net.TCPConn) string { return func(*net.TCPConn) string { return what } }
	redirected := func(what string) func(*net.TCPConn) string {
		return func(conn *net.TCPConn) string {
			to, err := originalDestination(conn)
			if err != nil {
				return err.Error()
			}
			return what + " for " + to.String()
		}
	}
	for _, network := range []string{"tcp4", "tcp6"} {
		for _, port := range []string{":22", ":5432", ":7000"} {
			outside.serve(network, port, says("outside"))
		}
		pod.serve(network, ":8080", says("app"))
		pod.serve(network, ":8081", says("app"))
		pod.serve(network, ":15000", redirected("ingress"))
		pod.serve(network, ":15001", redirected("egress"))
	}
	return pod, outside
}

func (s *netns) apply(changes map[string]string) {
	s.t.Helper()
	c, err := FromEnv(env(changes))
	if err != nil {
		s.t.Fatal(err)
	}
	s.must(func() error { return Apply(c.Rules()) })
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestCapture(t *testing.T) {
	pod, outside := newPodNetns(t)
	expect(t, "before", pod.dial("10.0.0.2:7000"), "outside")
	pod.apply(map[string]string{EnvIgnoredPorts: "5432", EnvIgnoredIPs: "10.9.0.0/16,fd09::/16", EnvGID: "1338"})

	// Outbound.
	expect(t, "IPv4", pod.dial("10.0.0.2:7000"), "egress for 10.0.0.2:7000")
	expect(t, "IPv6", pod.dial("[fd00::2]:7000"), "egress for [fd00::2]:7000")
	expect(t, "port without a listener", pod.dial("10.0.0.2:9999"), "egress for 10.0.0.2:9999")
	expect(t, "application of another user", pod.dialAs(65534, 65534, "10.0.0.2:7000"), "egress for 10.0.0.2:7000")
	expect(t, "ignored port", pod.dial("10.0.0.2:5432"), "outside")
	expect(t, "ignored port, IPv6", pod.dial("[fd00::2]:5432"), "outside")
	expect(t, "SSH", pod.dial("10.0.0.2:22"), "egress for 10.0.0.2:22")
	expect(t, "ignored network", pod.dial("10.9.0.1:7000"), "outside")
	expect(t, "ignored network, IPv6", pod.dial("[fd09::1]:7000"), "outside")
	expect(t, "the proxy's user", pod.dialAs(1337, 65534, "10.0.0.2:7000"), "outside")
	expect(t, "the proxy's user, IPv6", pod.dialAs(1337, 65534, "[fd00::2]:7000"), "outside")
	expect(t, "the proxy's group", pod.dialAs(65534, 1338, "10.0.0.2:7000"), "outside")

	// To the pod itself.
	for _, address := range []string{"127.0.0.1:8080", "[::1]:8080", "10.0.0.1:8080", "[fd00::1]:8080"} {
		expect(t, "loopback", pod.dial(address), "app")
	}
	for _, address := range []string{"127.0.0.1:8080", "[::1]:8080", "10.0.0.1:8081", "[fd00::1]:8081"} {
		expect(t, "the proxy, to the application", pod.dialAs(1337, 1337, address), "app")
	}
	// The application calls a Service of its own pod.
	expect(t, "the proxy, to its pod", pod.dialAs(1337, 1337, "10.0.0.1:8080"), "ingress for 10.0.0.1:8080")
	expect(t, "the proxy, to its pod, IPv6", pod.dialAs(1337, 1337, "[fd00::1]:8080"), "ingress for [fd00::1]:8080")

	// Inbound.
	expect(t, "listed port", outside.dial("10.0.0.1:8080"), "ingress for 10.0.0.1:8080")
	expect(t, "listed port, IPv6", outside.dial("[fd00::1]:8080"), "ingress for [fd00::1]:8080")
	expect(t, "port that is not listed", outside.dial("10.0.0.1:8081"), "app")
	expect(t, "port that is not listed, IPv6", outside.dial("[fd00::1]:8081"), "app")
}

// Included ranges limit the capture of outbound connections. Exclusions apply within them.
func TestIncludedRanges(t *testing.T) {
	pod, outside := newPodNetns(t)
	pod.apply(map[string]string{EnvIncludedIPs: "10.9.0.0/16"})
	expect(t, "included", pod.dial("10.9.0.1:7000"), "egress for 10.9.0.1:7000")
	expect(t, "not included", pod.dial("10.0.0.2:7000"), "outside")
	expect(t, "IPv6, of which nothing is included", pod.dial("[fd09::1]:7000"), "outside")
	expect(t, "inbound", outside.dial("10.0.0.1:8080"), "ingress for 10.0.0.1:8080")
	pod.apply(map[string]string{EnvIncludedIPs: "10.0.0.0/8,fd00::/8", EnvIgnoredIPs: "10.9.0.0/16", EnvIgnoredPorts: "5432"})
	expect(t, "included range", pod.dial("10.0.0.2:7000"), "egress for 10.0.0.2:7000")
	expect(t, "included range, IPv6", pod.dial("[fd00::2]:7000"), "egress for [fd00::2]:7000")
	expect(t, "excluded within it", pod.dial("10.9.0.1:7000"), "outside")
	expect(t, "excluded port", pod.dial("10.0.0.2:5432"), "outside")
}

// With addresses of the application, the proxy reaches it there, and its own ports on loopback addresses.
func TestApplicationOnPodAddress(t *testing.T) {
	pod, outside := newPodNetns(t)
	says := func(what string) func(*net.TCPConn) string { return func(*net.TCPConn) string { return what } }
	pod.serve("tcp4", "10.0.0.1:8090", says("app on the address of the pod"))
	pod.serve("tcp4", "127.0.0.1:8090", says("loopback"))
	pod.serve("tcp4", "127.0.0.1:9901", says("statistics"))
	pod.serve("tcp6", "[fd00::1]:8090", says("app on the address of the pod"))
	pod.apply(map[string]string{EnvAppIPs: "10.0.0.1,fd00::1", EnvProxyPorts: "9901,15020"})
	expect(t, "the proxy", pod.dialAs(1337, 1337, "127.0.0.1:8090"), "app on the address of the pod")
	expect(t, "the proxy, IPv6", pod.dialAs(1337, 1337, "[::1]:8090"), "app on the address of the pod")
	expect(t, "the proxy to its own port", pod.dialAs(1337, 1337, "127.0.0.1:9901"), "statistics")
	expect(t, "the application", pod.dialAs(65534, 65534, "127.0.0.1:8090"), "loopback")
	expect(t, "the proxy to another host", pod.dialAs(1337, 1337, "10.0.0.2:7000"), "outside")
	expect(t, "inbound", outside.dial("10.0.0.1:8080"), "ingress for 10.0.0.1:8080")
}

// TestPortsOfProxyRefuseConnections checks the connections that are not redirected: with IPv6 captured or not, and
// without ports of the application.
func TestPortsOfProxyRefuseConnections(t *testing.T) {
	pod, outside := newPodNetns(t)
	for _, changes := range []map[string]string{nil, {EnvIPv6: "0"}, {EnvAppPorts: ""}} {
		pod.apply(changes)
		for _, port := range []string{"15000", "15001"} {
			for _, host := range []string{"10.0.0.1", "fd00::1"} {
				address := net.JoinHostPort(host, port)
				refused := func(what, got string) {
					if !strings.Contains(got, "connection refused") {
						t.Errorf("%v: %s to %s: %q, want it to be refused", changes, what, address, got)
					}
				}
				refused("from outside", outside.dial(address))
				refused("from the pod", pod.dial(address))
				refused("from the proxy", pod.dialAs(1337, 1337, address))
			}
		}
	}
}

func TestUDPIsNotCaptured(t *testing.T) {
	pod, outside := newPodNetns(t)
	pod.apply(nil)
	outside.respondUDP(":8080", "outside")
	pod.expectUDP("10.0.0.2:8080", "outside")
}

func countTables(s *netns) (n int) {
	s.must(func() error {
		conn, err := nftables.New()
		if err != nil {
			return err
		}
		all, err := conn.ListTables()
		n = len(all)
		return err
	})
	return n
}

func TestApplyReplacesRules(t *testing.T) {
	pod, outside := newPodNetns(t)
	pod.apply(nil)
	pod.apply(nil)
	if n := countTables(pod); n != 2 {
		t.Errorf("%d tables after applying twice, want 2", n)
	}
	pod.apply(map[string]string{EnvAppPorts: "8081", EnvIgnoredPorts: "7000", EnvIPv6: "0"})
	expect(t, "port no longer listed", outside.dial("10.0.0.1:8080"), "app")
	expect(t, "port listed now", outside.dial("10.0.0.1:8081"), "ingress for 10.0.0.1:8081")
	expect(t, "port ignored now", pod.dial("10.0.0.2:7000"), "outside")
	expect(t, "port no longer ignored", pod.dial("10.0.0.2:5432"), "egress for 10.0.0.2:5432")
	expect(t, "IPv6 no longer captured", pod.dial("[fd00::2]:5432"), "outside")
	pod.apply(map[string]string{EnvAppPorts: ""})
	expect(t, "without ports", outside.dial("10.0.0.1:8081"), "app")
	pod.apply(map[string]string{EnvAppPorts: "*", EnvOpenPorts: "8081"})
	for _, host := range []string{"10.0.0.1", "[fd00::1]"} {
		expect(t, "all ports", outside.dial(host+":8080"), "ingress for "+host+":8080")
		expect(t, "all ports, no application", outside.dial(host+":9"), "ingress for "+host+":9")
		expect(t, "all ports, open", outside.dial(host+":8081"), "app")
		expect(t, "all ports, from the pod", pod.dial(host+":8080"), "app")
	}
	pod.apply(map[string]string{EnvEnabled: "0"})
	expect(t, "disabled", pod.dial("10.0.0.2:7000"), "outside")
	if n := countTables(pod); n != 0 {
		t.Errorf("%d tables when disabled, want 0", n)
	}
}

func TestApplyAcceptsAnyPrefixList(t *testing.T) {
	requireRoot(t)
	pod := newNetns(t, "pod")
	for _, list := range []string{
		"0.0.0.0/0,::/0", "0.0.0.0/1,128.0.0.0/1", "255.255.255.255,0.0.0.0", "10.0.0.0/9,10.128.0.0/9,10.1.1.1",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,::,8000::/1", "1.2.3.4/31,1.2.3.6/31,1.2.3.8", "",
	} {
		pod.apply(map[string]string{EnvIgnoredIPs: list, EnvAppPorts: "1,2,3,65535"})
	}
}

func TestApplyWithoutNetAdmin(t *testing.T) {
	requireRoot(t)
	pod := newNetns(t, "pod")
	err := pod.run(func() error {
		// only of this thread, which ends with the goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			return errno
		}
		return Apply(Config{Enabled: true, EgressPort: 1, UID: id(1)}.Rules())
	})
	if !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "NET_ADMIN") {
		t.Errorf("error %v does not name the missing capability", err)
	}
}

// The text of a dry run and the applied rules are equal: nft lists the same for both.
func TestDryRunMatchesAppliedRules(t *testing.T) {
	requireRoot(t)
	nft, err := exec.LookPath("nft")
	if err != nil {
		t.Skip("nft is not installed")
	}
	for _, ports := range []string{"80,443", "*"} {
		checkDryRun(t, nft, ports)
	}
}

func checkDryRun(t *testing.T, nft, ports string) {
	c, err := FromEnv(env(map[string]string{EnvAppPorts: ports, EnvOpenPorts: "15020", EnvGID: "7",
		EnvIgnoredIPs: "10.0.0.0/8,169.254.169.254,fd00::/8,::1", EnvDNSPort: "15053"}))
	if err != nil {
		t.Fatal(err)
	}
	c.Nameservers = []netip.Prefix{netip.MustParsePrefix("10.96.0.10/32"), netip.MustParsePrefix("fd00::a/128")}
	list := func(name string, change func() error) (out string) {
		s := newNetns(t, name)
		s.must(change)
		s.must(func() error {
			text, err := exec.Command(nft, "list", "ruleset").CombinedOutput()
			out = string(text)
			return err
		})
		return out
	}
	fromText := list("text", func() error {
		cmd := exec.Command(nft, "-f", "-")
		cmd.Stdin = strings.NewReader(c.Rules().String())
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	applied := list("netlink", func() error { return Apply(c.Rules()) })
	if diff := cmp.Diff(fromText, applied); diff != "" || !strings.Contains(applied, "15001") {
		t.Errorf("(-text +applied):\n%s", diff)
	}
}

func TestNextAddress(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.0/8": "11.0.0.0", "10.0.0.255/32": "10.0.1.0", "10.1.128.0/17": "10.2.0.0", "0.0.0.0/0": "invalid IP",
		"255.255.255.255/32": "invalid IP", "fd00::/64": "fd00:0:0:1::", "::/0": "invalid IP",
	} {
		t.Run(in, func(t *testing.T) {
			if got := nextAddress(netip.MustParsePrefix(in)).String(); got != want {
				t.Errorf("after %s: %s, want %s", in, got, want)
			}
		})
	}
}
