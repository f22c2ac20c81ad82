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

func needsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
}

// newPod is a pod with an app on 8080 and 8081 and a proxy, and the world
// outside with a server on some ports of 10.0.0.2, fd00::2, 10.9.0.1 and fd09::1.
func newPod(t *testing.T) (pod, outside *space) {
	t.Helper()
	needsRoot(t)
	pod, outside = newSpace(t, "pod"), newSpace(t, "outside")
	join(pod, outside)
	outside.addresses("eth1", "10.0.0.2/24", "fd00::2/64")
	outside.addresses("lo", "10.9.0.1/32", "fd09::1/128")
	pod.addresses("eth0", "10.0.0.1/24", "fd00::1/64")
	pod.route("10.9.0.0/16", "10.0.0.2")
	pod.route("fd09::/16", "fd00::2")

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

func (s *space) apply(changes map[string]string) {
	s.t.Helper()
	c, err := FromEnv(env(changes))
	if err != nil {
		s.t.Fatal(err)
	}
	s.must(func() error { return Apply(c.Rules()) })
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestTrafficIsCaptured(t *testing.T) {
	pod, outside := newPod(t)
	want(t, "before", pod.ask("10.0.0.2:7000"), "outside")
	pod.apply(map[string]string{EnvIgnoredPorts: "5432", EnvIgnoredIPs: "10.9.0.0/16,fd09::/16", EnvGID: "1338"})

	// Outbound.
	want(t, "IPv4", pod.ask("10.0.0.2:7000"), "egress for 10.0.0.2:7000")
	want(t, "IPv6", pod.ask("[fd00::2]:7000"), "egress for [fd00::2]:7000")
	want(t, "a port where nobody listens", pod.ask("10.0.0.2:9999"), "egress for 10.0.0.2:9999")
	want(t, "an app of another user", pod.askAs(65534, 65534, "10.0.0.2:7000"), "egress for 10.0.0.2:7000")
	want(t, "ignored port", pod.ask("10.0.0.2:5432"), "outside")
	want(t, "ignored port, IPv6", pod.ask("[fd00::2]:5432"), "outside")
	want(t, "port 22", pod.ask("10.0.0.2:22"), "outside")
	want(t, "ignored network", pod.ask("10.9.0.1:7000"), "outside")
	want(t, "ignored network, IPv6", pod.ask("[fd09::1]:7000"), "outside")
	want(t, "the proxy's user", pod.askAs(1337, 65534, "10.0.0.2:7000"), "outside")
	want(t, "the proxy's user, IPv6", pod.askAs(1337, 65534, "[fd00::2]:7000"), "outside")
	want(t, "the proxy's group", pod.askAs(65534, 1338, "10.0.0.2:7000"), "outside")

	// To itself.
	for _, address := range []string{"127.0.0.1:8080", "[::1]:8080", "10.0.0.1:8080", "[fd00::1]:8080"} {
		want(t, "loopback", pod.ask(address), "app")
		want(t, "loopback of the proxy", pod.askAs(1337, 1337, address), "app")
	}

	// Inbound.
	want(t, "listed port", outside.ask("10.0.0.1:8080"), "ingress for 10.0.0.1:8080")
	want(t, "listed port, IPv6", outside.ask("[fd00::1]:8080"), "ingress for [fd00::1]:8080")
	want(t, "port that is not listed", outside.ask("10.0.0.1:8081"), "app")
	want(t, "port that is not listed, IPv6", outside.ask("[fd00::1]:8081"), "app")
}

func TestUDPIsLeftAlone(t *testing.T) {
	pod, outside := newPod(t)
	pod.apply(nil)
	outside.must(func() error {
		l, err := net.ListenPacket("udp4", ":8080")
		if err != nil {
			return err
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			b := make([]byte, 100)
			if _, from, err := l.ReadFrom(b); err == nil {
				_, _ = l.WriteTo([]byte("outside"), from) // the asker reports what is missing
			}
		}()
		return nil
	})
	pod.must(func() error {
		conn, err := net.Dial("udp", "10.0.0.2:8080")
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("?")); err != nil {
			return err
		}
		b := make([]byte, 100)
		n, err := conn.Read(b)
		if err == nil && string(b[:n]) != "outside" {
			err = fmt.Errorf("answer %q", b[:n])
		}
		return err
	})
}

func tables(s *space) (n int) {
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

func TestRulesAreReplaced(t *testing.T) {
	pod, outside := newPod(t)
	pod.apply(nil)
	pod.apply(nil)
	if n := tables(pod); n != 2 {
		t.Errorf("%d tables after applying twice, want 2", n)
	}
	pod.apply(map[string]string{EnvAppPorts: "8081", EnvIgnoredPorts: "7000", EnvIPv6: "0"})
	want(t, "port no longer listed", outside.ask("10.0.0.1:8080"), "app")
	want(t, "port listed now", outside.ask("10.0.0.1:8081"), "ingress for 10.0.0.1:8081")
	want(t, "port ignored now", pod.ask("10.0.0.2:7000"), "outside")
	want(t, "port no longer ignored", pod.ask("10.0.0.2:5432"), "egress for 10.0.0.2:5432")
	want(t, "IPv6 no longer captured", pod.ask("[fd00::2]:5432"), "outside")
	if n := tables(pod); n != 1 {
		t.Errorf("%d tables without IPv6, want 1", n)
	}
	pod.apply(map[string]string{EnvAppPorts: ""})
	want(t, "without ports", outside.ask("10.0.0.1:8081"), "app")
	pod.apply(map[string]string{EnvEnabled: "0"})
	want(t, "disabled", pod.ask("10.0.0.2:7000"), "outside")
	if n := tables(pod); n != 0 {
		t.Errorf("%d tables when disabled, want 0", n)
	}
}

func TestAnyListOfNetworksIsAccepted(t *testing.T) {
	needsRoot(t)
	pod := newSpace(t, "pod")
	for _, list := range []string{
		"0.0.0.0/0,::/0", "0.0.0.0/1,128.0.0.0/1", "255.255.255.255,0.0.0.0", "10.0.0.0/9,10.128.0.0/9,10.1.1.1",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,::,8000::/1", "1.2.3.4/31,1.2.3.6/31,1.2.3.8", "",
	} {
		pod.apply(map[string]string{EnvIgnoredIPs: list, EnvAppPorts: "1,2,3,65535"})
	}
}

func TestApplyNeedsPermission(t *testing.T) {
	needsRoot(t)
	pod := newSpace(t, "pod")
	err := pod.do(func() error {
		// Of this thread only, which ends with it.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			return errno
		}
		return Apply(Config{Enabled: true, EgressPort: 1, UID: id(1)}.Rules())
	})
	if !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "NET_ADMIN") {
		t.Errorf("error %v does not say what is missing", err)
	}
}

// The text of a dry run means what is applied: nft, where it is installed,
// lists the same for both.
func TestTextIsWhatIsApplied(t *testing.T) {
	needsRoot(t)
	nft, err := exec.LookPath("nft")
	if err != nil {
		t.Skip("nft is not installed")
	}
	c, err := FromEnv(env(map[string]string{EnvAppPorts: "80,443", EnvGID: "7", EnvIgnoredIPs: "10.0.0.0/8,169.254.169.254,fd00::/8,::1"}))
	if err != nil {
		t.Fatal(err)
	}
	list := func(name string, change func() error) (out string) {
		s := newSpace(t, name)
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

func TestAfter(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.0/8": "11.0.0.0", "10.0.0.255/32": "10.0.1.0", "10.1.128.0/17": "10.2.0.0", "0.0.0.0/0": "invalid IP",
		"255.255.255.255/32": "invalid IP", "fd00::/64": "fd00:0:0:1::", "::/0": "invalid IP",
	} {
		if got := after(netip.MustParsePrefix(in)).String(); got != want {
			t.Errorf("after %s: %s, want %s", in, got, want)
		}
	}
}
