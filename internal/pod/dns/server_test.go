package dns

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"anymesh.dev/anymesh/test/poll"
)

func TestInvalidConfigurations(t *testing.T) {
	for _, test := range []struct {
		title  string
		change func(*Config)
		want   string
	}{
		{"no listen address", func(c *Config) { c.Listen = nil }, "no listen address"},
		{"no port", func(c *Config) { c.Listen = []string{"127.0.0.1"} }, `listen address "127.0.0.1"`},
		{"host name", func(c *Config) { c.Listen = []string{"localhost:53"} }, `listen address "localhost:53"`},
		{"all addresses", func(c *Config) { c.Listen = []string{"0.0.0.0:53"} }, "0.0.0.0:53 is not a loopback address"},
		{"address of a host", func(c *Config) { c.Listen = []string{"[fd00::1]:53"} }, "[fd00::1]:53 is not a loopback address"},
		{"nameserver is this server", func(c *Config) {
			c.Listen = []string{"127.0.0.1:15053"}
			c.Upstreams = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:15053")}
		}, "127.0.0.1:15053 is both"},
		{"no family", func(c *Config) { c.IPv4, c.IPv6 = false, false }, "neither IPv4 nor IPv6"},
	} {
		t.Run(test.title, func(t *testing.T) {
			c := testConfig()
			test.change(&c)
			if _, err := New(c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an error with %q, got %v", test.want, err)
			}
		})
	}
}

func TestTakenPortIsAnError(t *testing.T) {
	first := start(t, testConfig())
	for _, network := range []string{"udp", "tcp"} {
		t.Run(network, func(t *testing.T) {
			c := testConfig()
			c.Listen = append(c.Listen, first.address(network))
			second, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			err = second.Run(context.Background())
			if want := network + " " + first.address(network); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want an error with %q, got %v", want, err)
			}
			if len(second.udp)+len(second.tcp) != 0 {
				t.Error("sockets are open")
			}
		})
	}
}

func TestRunEndsWhileQuestionsAreInFlight(t *testing.T) {
	s, err := New(testConfig(silent(t).address))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for i, network := range []string{"udp", "tcp"} {
		conn := connect(t, s, network)
		defer conn.Close()
		if err := conn.WriteMsg(newQuestion("example.com", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "the question is in flight", func() bool { return len(s.questions) == i+1 })
	}
	begin := time.Now()
	cancel()
	if err := <-done; err != nil || time.Since(begin) > time.Second {
		t.Errorf("Run returned %v after %v", err, time.Since(begin))
	}
}

func TestBothFamiliesOfLoopbackAddresses(t *testing.T) {
	c := testConfig()
	c.Listen = []string{"[::1]:0"}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Skip("this machine has no IPv6:", err)
	}
	s.close()
	s = start(t, c)
	for _, network := range []string{"udp", "tcp"} {
		ask(t, s, network, newQuestion("short", dns.TypeA))
	}
}

func TestClientsOutsideOfThePodGetNoAnswer(t *testing.T) {
	s := start(t, testConfig())
	s.own[netip.MustParseAddr("10.0.0.9")] = true
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.53": true, "::1": true, "::ffff:127.0.0.1": true, "10.0.0.9": true,
		"::ffff:10.0.0.9": true, "10.0.0.10": false, "192.0.2.1": false, "fd00::1": false, "fe80::1%eth0": false,
	} {
		if got := s.isLocal(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: in this pod: %t", text, got)
		}
	}
}

func TestTableIsReplacedAtomically(t *testing.T) {
	s := start(t, testConfig())
	const size = 50
	// All names of a table have the same address.
	table := func(version byte) map[string]Record {
		out := map[string]Record{}
		for i := range size {
			out[fmt.Sprintf("n%d.pvt", i)] = Record{Addresses: addresses("10.0.0." + fmt.Sprint(version)), TTL: 1}
		}
		return out
	}
	s.SetNames(table(1))
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for i := range 4 {
		network := []string{"udp", "tcp"}[i%2]
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				out, err := tryAsk(s, network, newQuestion(fmt.Sprintf("n%d.pvt", n%size), dns.TypeA))
				if err != nil || len(out.Answer) != 1 {
					t.Errorf("no answer: %v\n%v", err, out)
				}
			}
		})
	}
	for version := range byte(100) {
		s.SetNames(table(version))
		out := ask(t, s, "udp", newQuestion("n7.pvt", dns.TypeA))
		if got := out.Answer[0].(*dns.A).A[3]; got != version {
			t.Errorf("address of table %d after table %d is set", got, version)
		}
	}
	cancel()
	clients.Wait()
	s.SetNames(nil)
	if out := ask(t, s, "udp", newQuestion("n7.pvt", dns.TypeA)); out.Rcode != dns.RcodeServerFailure {
		t.Errorf("a removed name is answered:\n%s", out)
	}
}

func TestReadConfig(t *testing.T) {
	for _, test := range []struct {
		title, text string
		upstreams   string
		search      []string
		err         string
	}{
		{"of a pod", "search ns.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n",
			"[10.96.0.10:53]", []string{"ns.svc.cluster.local", "svc.cluster.local", "cluster.local"}, ""},
		{"several nameservers", "nameserver 10.0.0.1\nnameserver fd00::a\n# nameserver 10.0.0.9\nnameserver fe80::1%eth0\n",
			"[10.0.0.1:53 [fd00::a]:53 [fe80::1%eth0]:53]", []string{}, ""},
		{"a nameserver that is no address", "nameserver dns.example.com\nnameserver 10.0.0.1\n", "[10.0.0.1:53]", []string{}, ""},
		{"no nameserver", "search cluster.local\n", "[]", nil, "has no nameserver"},
	} {
		t.Run(test.title, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "resolv.conf")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			upstreams, search, err := ReadConfig(path)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("want error %q, got %v", test.err, err)
			}
			if got := fmt.Sprint(upstreams); got != test.upstreams {
				t.Errorf("nameservers are %s; want %s", got, test.upstreams)
			}
			if diff := cmp.Diff(test.search, search); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		if _, _, err := ReadConfig(filepath.Join(t.TempDir(), "none")); err == nil {
			t.Error("no error")
		}
	})
}
