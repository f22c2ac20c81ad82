package dns

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

// summary is what a client sees of an answer, without the question.
func summary(m *dns.Msg) string {
	var out []string
	flags := dns.RcodeToString[m.Rcode]
	if m.Rcode == dns.RcodeBadVers {
		flags = "BADVERS" // shares its number with BADSIG
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"aa", m.Authoritative}, {"tc", m.Truncated}, {"rd", m.RecursionDesired}, {"ra", m.RecursionAvailable}} {
		if f.set {
			flags += " " + f.name
		}
	}
	for _, r := range slices.Concat(m.Answer, m.Ns) {
		out = append(out, strings.Join(strings.Fields(r.String()), " "))
	}
	slices.Sort(out)
	if opt := m.IsEdns0(); opt != nil {
		out = append(out, fmt.Sprintf("OPT version=%d size=%d do=%t", opt.Version(), opt.UDPSize(), opt.Do()))
	}
	return strings.Join(append([]string{flags}, out...), "\n")
}

func TestNamesOfTheTableAreAnswered(t *testing.T) {
	u := newUpstream(t, answerAll)
	s := start(t, testConfig(u.address))
	soa := func(name string, ttl int) string {
		return fmt.Sprintf("%s %d IN SOA %[1]s nobody.invalid. 1 3600 1200 604800 %[2]d", name, ttl)
	}
	edns := func(size uint16, version uint8, do bool) func(*dns.Msg) {
		return func(m *dns.Msg) {
			m.SetEdns0(size, do)
			m.IsEdns0().SetVersion(version)
		}
	}
	const name = "color.apps.pvt.local."
	for _, test := range []struct {
		title  string
		name   string
		qtype  uint16
		change func(*dns.Msg)
		want   []string
	}{
		{"A", name, dns.TypeA, nil, []string{"NOERROR aa rd ra", name + " 30 IN A 10.0.0.1"}},
		{"AAAA", name, dns.TypeAAAA, nil, []string{"NOERROR aa rd ra", name + " 30 IN AAAA fd00::1"}},
		{"without recursion desired", name, dns.TypeA, func(m *dns.Msg) { m.RecursionDesired = false },
			[]string{"NOERROR aa ra", name + " 30 IN A 10.0.0.1"}},
		{"all addresses", "two.apps.pvt.local.", dns.TypeA, nil,
			[]string{"NOERROR aa rd ra", "two.apps.pvt.local. 5 IN A 10.0.0.1", "two.apps.pvt.local. 5 IN A 10.0.0.2"}},
		{"no address of the family", "old.apps.pvt.local.", dns.TypeAAAA, nil,
			[]string{"NOERROR aa rd ra", soa("old.apps.pvt.local.", 5)}},
		{"TXT", name, dns.TypeTXT, nil, []string{"NOERROR aa rd ra", soa(name, 30)}},
		{"SRV", name, dns.TypeSRV, nil, []string{"NOERROR aa rd ra", soa(name, 30)}},
		{"MX", name, dns.TypeMX, nil, []string{"NOERROR aa rd ra", soa(name, 30)}},
		{"HTTPS", name, dns.TypeHTTPS, nil, []string{"NOERROR aa rd ra", soa(name, 30)}},
		{"ANY", name, dns.TypeANY, nil, []string{"NOERROR aa rd ra", soa(name, 30)}},
		{"unknown type", name, 65280, nil, []string{"NOERROR aa rd ra", soa(name, 30)}},
		{"mixed case", "cOLOR.apps.PVT.local.", dns.TypeA, nil,
			[]string{"NOERROR aa rd ra", "cOLOR.apps.PVT.local. 30 IN A 10.0.0.1"}},
		{"name without dots", "short.", dns.TypeA, nil, []string{"NOERROR aa rd ra", "short. 5 IN A 10.0.0.4"}},
		{"first search domain", "color.apps.pvt.local.ns.svc.cluster.local.", dns.TypeA, nil,
			[]string{"NOERROR aa rd ra", "color.apps.pvt.local.ns.svc.cluster.local. 30 IN A 10.0.0.1"}},
		{"other search domain, mixed case", "Short.Cluster.Local.", dns.TypeA, nil,
			[]string{"NOERROR aa rd ra", "Short.Cluster.Local. 5 IN A 10.0.0.4"}},
		{"search domain, no address of the family", "short.cluster.local.", dns.TypeAAAA, nil,
			[]string{"NOERROR aa rd ra", soa("short.cluster.local.", 5)}},
		{"EDNS", name, dns.TypeA, edns(4096, 0, false),
			[]string{"NOERROR aa rd ra", name + " 30 IN A 10.0.0.1", "OPT version=0 size=1232 do=false"}},
		{"EDNS with the DO bit, negative", name, dns.TypeTXT, edns(512, 0, true),
			[]string{"NOERROR aa rd ra", soa(name, 30), "OPT version=0 size=1232 do=true"}},
		{"EDNS with an option", name, dns.TypeA, func(m *dns.Msg) {
			m.SetEdns0(1232, false)
			m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0102030405060708"}}
		}, []string{"NOERROR aa rd ra", name + " 30 IN A 10.0.0.1", "OPT version=0 size=1232 do=false"}},
		{"unknown version of EDNS", name, dns.TypeA, edns(1232, 1, false),
			[]string{"BADVERS rd ra", "OPT version=0 size=1232 do=false"}},
	} {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(test.title+" over "+network, func(t *testing.T) {
				in := newQuestion(test.name, test.qtype)
				if test.change != nil {
					test.change(in)
				}
				out := ask(t, s, network, in)
				if out.Id != in.Id || !out.Response || !slices.Equal(out.Question, in.Question) {
					t.Errorf("the answer is to another question:\n%s", out)
				}
				if diff := cmp.Diff(strings.Join(test.want, "\n"), summary(out)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
	if questions, _ := u.recorded(); len(questions) != 0 {
		t.Errorf("%d questions about names in the table were forwarded", len(questions))
	}
	if c := s.Counts(); c.Answered == 0 || c.Forwarded != 0 || c.Failed != 0 || c.Dropped != 0 {
		t.Errorf("counts are %+v", c)
	}
}

func TestFamiliesThatThePodDoesNotHaveAreNotAnswered(t *testing.T) {
	for _, test := range []struct {
		ipv4, ipv6    bool
		wantA, wantA6 int
	}{{true, false, 1, 0}, {false, true, 0, 1}, {true, true, 1, 1}} {
		t.Run(fmt.Sprintf("IPv4 %t, IPv6 %t", test.ipv4, test.ipv6), func(t *testing.T) {
			c := testConfig()
			c.IPv4, c.IPv6 = test.ipv4, test.ipv6
			s := start(t, c)
			for qtype, want := range map[uint16]int{dns.TypeA: test.wantA, dns.TypeAAAA: test.wantA6} {
				out := ask(t, s, "udp", newQuestion("color.apps.pvt.local", qtype))
				if len(out.Answer) != want || len(out.Ns) != 1-want {
					t.Errorf("want %d addresses:\n%s", want, out)
				}
			}
		})
	}
}

func TestAddressesAreInRandomOrder(t *testing.T) {
	s := start(t, testConfig())
	first := map[string]int{}
	for range 100 {
		out := ask(t, s, "udp", newQuestion("two.apps.pvt.local", dns.TypeA))
		first[out.Answer[0].(*dns.A).A.String()]++
	}
	if len(first) != 2 {
		t.Errorf("first addresses of 100 answers: %v", first)
	}
}

func TestLongAnswersAreTruncatedOverUDP(t *testing.T) {
	s := start(t, testConfig())
	for _, test := range []struct {
		title      string
		client     uint16 // 0: without EDNS
		wantAtMost int
	}{
		{"without EDNS", 0, 512},
		{"EDNS with less than the minimum", 100, 512},
		{"EDNS", 1000, 1000},
		{"EDNS with more than our maximum", 65535, 1232},
	} {
		t.Run(test.title, func(t *testing.T) {
			in := newQuestion("many.apps.pvt.local", dns.TypeA)
			if test.client != 0 {
				in.SetEdns0(test.client, false)
			}
			packed, err := in.Pack()
			if err != nil {
				t.Fatal(err)
			}
			raw := askRaw(t, s, "udp", packed)
			out := new(dns.Msg)
			if err := out.Unpack(raw); err != nil {
				t.Fatal(err)
			}
			const record = 16
			if len(raw) > test.wantAtMost || len(raw) <= test.wantAtMost-record || !out.Truncated {
				t.Errorf("%d bytes, truncated: %t; want at most %d", len(raw), out.Truncated, test.wantAtMost)
			}
			if (out.IsEdns0() != nil) != (test.client != 0) {
				t.Errorf("OPT record in the answer: %v", out.IsEdns0())
			}
		})
	}
	t.Run("the same over TCP", func(t *testing.T) {
		out := ask(t, s, "tcp", newQuestion("many.apps.pvt.local", dns.TypeA))
		if len(out.Answer) != 200 || out.Truncated {
			t.Errorf("%d addresses, truncated: %t", len(out.Answer), out.Truncated)
		}
	})
}
