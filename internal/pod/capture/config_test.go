package capture

import (
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// env returns the environment of App Mesh's injector with changes; "-" removes a variable.
func env(changes map[string]string) func(string) (string, bool) {
	all := map[string]string{
		EnvEnabled: "1", EnvUID: "1337", EnvIngressPort: "15000", EnvEgressPort: "15001", EnvAppPorts: "8080",
		EnvIgnoredIPs: "169.254.169.254", EnvIgnoredPorts: "22", EnvIPv6: "1",
	}
	for k, v := range changes {
		if all[k] = v; v == "-" {
			delete(all, k)
		}
	}
	return func(k string) (string, bool) { v, ok := all[k]; return v, ok }
}

func id(n uint32) *uint32 { return &n }

func TestFromEnv(t *testing.T) {
	metadata := []netip.Prefix{netip.MustParsePrefix("169.254.169.254/32")}
	base := Config{Enabled: true, UID: id(1337), IngressPort: 15000, EgressPort: 15001, AppPorts: []uint16{8080},
		IgnoredPorts: []uint16{22}, IgnoredAddresses: metadata, IPv6: true}
	for name, c := range map[string]struct {
		changes map[string]string
		want    func(*Config)
	}{
		"as injected": {nil, func(*Config) {}},
		"disabled":    {map[string]string{EnvEnabled: "0", EnvUID: "invalid"}, func(c *Config) { *c = Config{} }},
		"not enabled": {map[string]string{EnvEnabled: "-"}, func(c *Config) { *c = Config{} }},
		"no listener": {map[string]string{EnvAppPorts: "", EnvIngressPort: "-"}, func(c *Config) { c.AppPorts, c.IngressPort = nil, 0 }},
		"all ports": {map[string]string{EnvAppPorts: "*", EnvOpenPorts: "9000,15020"},
			func(c *Config) { c.AppPorts, c.AllAppPorts, c.OpenPorts = nil, true, []uint16{9000, 15020} }},
		"ignored ports": {map[string]string{EnvIgnoredPorts: "5432, 443,443"},
			func(c *Config) { c.IgnoredPorts = []uint16{443, 5432} }},
		"no ignored ports": {map[string]string{EnvIgnoredPorts: "-"}, func(c *Config) { c.IgnoredPorts = nil }},
		"group only":       {map[string]string{EnvUID: "-", EnvGID: "7"}, func(c *Config) { c.UID, c.GID = nil, id(7) }},
		"DNS":              {map[string]string{EnvDNSPort: "15053"}, func(c *Config) { c.DNSPort = 15053 }},
		"no IPv6":          {map[string]string{EnvIPv6: "0"}, func(c *Config) { c.IPv6 = false }},
		"IPv6 by default":  {map[string]string{EnvIPv6: "-"}, func(*Config) {}},
		"networks": {map[string]string{EnvIgnoredIPs: "10.1.2.3/8, ::ffff:1.2.3.4,fd00::1/64,10.9.9.9,fd00::5"}, func(c *Config) {
			c.IgnoredAddresses = []netip.Prefix{netip.MustParsePrefix("1.2.3.4/32"),
				netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/64")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := base
			c.want(&want)
			got, err := FromEnv(env(c.changes))
			if err != nil {
				t.Error(err)
			}
			same := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromEnvErrorsNameVariables(t *testing.T) {
	for _, c := range []struct{ name, value string }{
		{EnvEnabled, "true"}, {EnvIPv6, "yes"}, {EnvUID, "-1"}, {EnvUID, "envoy"}, {EnvUID, "4294967295"}, {EnvGID, "1.5"},
		{EnvUID, "-"}, {EnvEgressPort, "-"}, {EnvEgressPort, "0"}, {EnvIngressPort, "65536"}, {EnvIngressPort, "+80"},
		{EnvAppPorts, "80,,443"}, {EnvAppPorts, "http"}, {EnvAppPorts, "80-90"}, {EnvIgnoredPorts, "22,x"},
		{EnvIgnoredIPs, "10.0.0.0/33"}, {EnvIgnoredIPs, "example.com"}, {EnvIgnoredIPs, "fe80::1%eth0"},
		{EnvIgnoredIPs, "::ffff:1.2.3.0/120"}, {EnvIgnoredIPs, ","},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			_, err := FromEnv(env(map[string]string{c.name: c.value}))
			if err == nil || !strings.Contains(err.Error(), c.name) {
				t.Errorf("error %v does not name the variable", err)
			}
		})
	}
	_, err := FromEnv(env(map[string]string{EnvAppPorts: "x", EnvIPv6: "2"}))
	if err == nil || !strings.Contains(err.Error(), EnvAppPorts) || !strings.Contains(err.Error(), EnvIPv6) {
		t.Errorf("error %v does not name both variables", err)
	}
}

func TestRulesText(t *testing.T) {
	c, err := FromEnv(env(map[string]string{EnvAppPorts: "9090,8080", EnvIgnoredIPs: "169.254.169.254,fd00::/8",
		EnvGID: "1337"}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `table ip anymesh
delete table ip anymesh
table ip6 anymesh
delete table ip6 anymesh
table ip anymesh {
	set loopback {
		type ipv4_addr; flags interval; elements = { 127.0.0.0/8 }
	}
	set app_ports {
		type inet_service; elements = { 8080, 9090 }
	}
	set ignored_ports {
		type inet_service; elements = { 22 }
	}
	set ignored_addresses {
		type ipv4_addr; flags interval; elements = { 169.254.169.254/32 }
	}
	set proxy_ports {
		type inet_service; elements = { 15001, 15000 }
	}
	chain inbound {
		type nat hook prerouting priority -100; policy accept;
		fib saddr type != local tcp dport @app_ports redirect to :15000
	}
	chain outbound {
		type nat hook output priority -100; policy accept;
		meta skuid 1337 ip daddr @loopback return
		meta skuid 1337 fib daddr type local tcp dport @app_ports redirect to :15000
		meta skuid 1337 return
		meta skgid 1337 return
		fib daddr type local return
		tcp dport @ignored_ports return
		ip daddr @ignored_addresses return
		meta l4proto tcp redirect to :15001
	}
	chain guard {
		type filter hook input priority 0; policy accept;
		tcp dport @proxy_ports ct status & dnat == 0 reject with tcp reset
	}
}
table ip6 anymesh {
	set loopback {
		type ipv6_addr; flags interval; elements = { ::1/128 }
	}
	set app_ports {
		type inet_service; elements = { 8080, 9090 }
	}
	set ignored_ports {
		type inet_service; elements = { 22 }
	}
	set ignored_addresses {
		type ipv6_addr; flags interval; elements = { fd00::/8 }
	}
	set proxy_ports {
		type inet_service; elements = { 15001, 15000 }
	}
	chain inbound {
		type nat hook prerouting priority -100; policy accept;
		fib saddr type != local tcp dport @app_ports redirect to :15000
	}
	chain outbound {
		type nat hook output priority -100; policy accept;
		meta skuid 1337 ip6 daddr @loopback return
		meta skuid 1337 fib daddr type local tcp dport @app_ports redirect to :15000
		meta skuid 1337 return
		meta skgid 1337 return
		fib daddr type local return
		tcp dport @ignored_ports return
		ip6 daddr @ignored_addresses return
		meta l4proto tcp redirect to :15001
	}
	chain guard {
		type filter hook input priority 0; policy accept;
		tcp dport @proxy_ports ct status & dnat == 0 reject with tcp reset
	}
}
`
	if diff := cmp.Diff(want, c.Rules().String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Accepted configurations have valid and disjoint prefixes, and rules.
func FuzzFromEnv(f *testing.F) {
	f.Add("80,443", "22", "10.0.0.0/8,fd00::/8", "1337")
	f.Add("", "", "0.0.0.0/0,::/0,255.255.255.255", "0")
	f.Fuzz(func(t *testing.T, app, ignored, addresses, uid string) {
		c, err := FromEnv(env(map[string]string{EnvAppPorts: app, EnvIgnoredPorts: ignored, EnvIgnoredIPs: addresses,
			EnvUID: uid}))
		if err != nil {
			return
		}
		for i, p := range c.IgnoredAddresses {
			if p != p.Masked() || !p.IsValid() {
				t.Fatalf("%s is not a network", p)
			}
			if end := nextAddress(p); end.IsValid() && (p.Contains(end) || !p.Contains(end.Prev())) {
				t.Fatalf("the address after %s is %s", p, end)
			}
			for _, other := range c.IgnoredAddresses[i+1:] {
				if p.Overlaps(other) {
					t.Fatalf("%s and %s overlap", p, other)
				}
			}
		}
		if c.UID == nil || c.Rules().String() == "" {
			t.Fatal("no proxy user, or no text")
		}
	})
}

// DNS questions to the nameservers go to the agent, unless port 53 or the nameserver is excluded.
func TestRulesForDNS(t *testing.T) {
	for name, tt := range map[string]struct {
		changes map[string]string
		want    []string
	}{
		"captured": {nil, []string{
			"ip daddr @nameservers udp dport 53 redirect to :15053", "ip daddr @nameservers tcp dport 53 redirect to :15053",
			"ip saddr @nameservers udp sport 53 notrack",
			"ip saddr @nameservers tcp sport 53 notrack",
			"meta skuid 1337 ip daddr @nameservers udp dport 53 notrack",
			"meta skuid 1337 ip daddr @nameservers tcp dport 53 notrack",
			"icmp type 3 icmp code 3 @th,240,16 15053 fib daddr type local drop",
			"tcp sport 15053 tcp flags == 0x14 tcp sequence 0 fib daddr type local drop",
		}},
		"excluded port": {map[string]string{EnvIgnoredPorts: "53"}, nil},
		"excluded IP":   {map[string]string{EnvIgnoredIPs: "10.96.0.0/16"}, []string{"ip daddr @ignored_addresses return"}},
		"off":           {map[string]string{EnvDNSPort: ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			changes := map[string]string{EnvDNSPort: "15053", EnvIPv6: "0"}
			maps.Copy(changes, tt.changes)
			c, err := FromEnv(env(changes))
			if err != nil {
				t.Fatal(err)
			}
			c.Nameservers = []netip.Prefix{netip.MustParsePrefix("10.96.0.10/32")}
			text, at := c.Rules().String(), 0
			for _, rule := range tt.want {
				i := strings.Index(text[at:], rule)
				if i < 0 {
					t.Fatalf("no %q, in this order, in\n%s", rule, text)
				}
				at += i
			}
			if len(tt.want) == 0 && strings.Contains(text, "15053") {
				t.Errorf("DNS is captured:\n%s", text)
			}
		})
	}
}
