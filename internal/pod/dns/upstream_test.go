package dns

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"anymesh.dev/anymesh/test/poll"
)

// closedPort is an address that refuses packets and connections.
func closedPort(t *testing.T) netip.AddrPort {
	t.Helper()
	u := newUpstream(t, answerAll)
	u.stop()
	return u.address
}

// silent is a nameserver that replies to nothing.
func silent(t *testing.T) *upstream {
	t.Helper()
	return newUpstream(t, func(dns.ResponseWriter, *dns.Msg) {})
}

// fast shortens the time limits.
func fast(s *Server) {
	s.timing.attempt, s.timing.total = 50*time.Millisecond, 200*time.Millisecond
}

func TestNextNameserverIsTried(t *testing.T) {
	for _, network := range []string{"udp", "tcp"} {
		for title, first := range map[string]func(*testing.T) netip.AddrPort{
			"the first refuses":    closedPort,
			"the first is silent":  func(t *testing.T) netip.AddrPort { return silent(t).address },
			"the first is no host": func(*testing.T) netip.AddrPort { return netip.MustParseAddrPort("[100::1]:53") },
		} {
			t.Run(title+" over "+network, func(t *testing.T) {
				second := newUpstream(t, answerAll)
				s := start(t, testConfig(first(t), second.address), func(s *Server) {
					s.timing.attempt = 50 * time.Millisecond
				})
				if out := ask(t, s, network, newQuestion("example.com", dns.TypeA)); len(out.Answer) != 1 {
					t.Errorf("got\n%s", out)
				}
				if c := s.Counts(); c.Forwarded != 1 || c.Failed != 0 {
					t.Errorf("counts are %+v", c)
				}
			})
		}
	}
}

func TestLostPacketIsSentAgain(t *testing.T) {
	var received atomic.Int32
	u := newUpstream(t, func(w dns.ResponseWriter, in *dns.Msg) {
		if received.Add(1) > 1 {
			answerAll(w, in)
		}
	})
	s := start(t, testConfig(u.address), func(s *Server) { s.timing.attempt = 50 * time.Millisecond })
	if out := ask(t, s, "udp", newQuestion("example.com", dns.TypeA)); len(out.Answer) != 1 {
		t.Errorf("got\n%s", out)
	}
}

func TestServerFailureAfterTheDeadline(t *testing.T) {
	for title, upstreams := range map[string][]netip.AddrPort{
		"refused": {closedPort(t)}, "silent": {silent(t).address}, "no nameserver": nil,
	} {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(title+" over "+network, func(t *testing.T) {
				s := start(t, testConfig(upstreams...), fast)
				in := newQuestion("eXample.com", dns.TypeA)
				in.SetEdns0(1232, true)
				begin := time.Now()
				out := ask(t, s, network, in)
				if took := time.Since(begin); took > 2*time.Second {
					t.Errorf("took %v", took)
				}
				want := "SERVFAIL rd ra\nOPT version=0 size=1232 do=true"
				if got := summary(out); got != want || out.Id != in.Id || out.Question[0] != in.Question[0] {
					t.Errorf("want %q, got\n%s", want, out)
				}
				if c := s.Counts(); c.Failed != 1 || c.Forwarded != 0 {
					t.Errorf("counts are %+v", c)
				}
			})
		}
	}
	t.Run("the default deadline is shorter than that of client resolvers", func(t *testing.T) {
		if d := defaultTiming; d.total >= 5*time.Second || 2*d.attempt >= d.total {
			t.Errorf("%+v", d)
		}
	})
}

// A packet with another ID or question may come from an attacker that guesses the port.
func TestRepliesToOtherQuestionsAreIgnored(t *testing.T) {
	for title, change := range map[string]func(*dns.Msg){
		"other ID":              func(m *dns.Msg) { m.Id++ },
		"other name":            func(m *dns.Msg) { m.Question[0].Name = "example.org." },
		"other type":            func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAAAA },
		"other opcode":          func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify },
		"a question":            func(m *dns.Msg) { m.Response = false },
		"without question":      func(m *dns.Msg) { m.Question = nil },
		"with two questions":    func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) },
		"with shorter question": func(m *dns.Msg) { m.Question[0].Name, m.Answer = ".", nil },
	} {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(title+" over "+network, func(t *testing.T) {
				u := newUpstream(t, func(w dns.ResponseWriter, in *dns.Msg) {
					wrong := new(dns.Msg).SetReply(in)
					change(wrong)
					_ = w.WriteMsg(wrong)
					answerAll(w, in)
				})
				s := start(t, testConfig(u.address))
				if out := ask(t, s, network, newQuestion("example.com", dns.TypeA)); len(out.Answer) != 1 {
					t.Errorf("got\n%s", out)
				}
			})
		}
	}
}

func TestTooLongReplyOverUDPMakesTheClientUseTCP(t *testing.T) {
	u := newUpstream(t, func(w dns.ResponseWriter, in *dns.Msg) {
		out := new(dns.Msg).SetReply(in)
		for range 100 {
			out.Answer = append(out.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: in.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET},
				A:   net.IPv4(192, 0, 2, 1),
			})
		}
		_ = w.WriteMsg(out)
	})
	s := start(t, testConfig(u.address))
	out := ask(t, s, "udp", newQuestion("example.com", dns.TypeA))
	if !out.Truncated || len(out.Answer) != 0 || len(out.Question) != 1 {
		t.Errorf("got\n%s", out)
	}
}

func TestNoQuestionFailsWhileTheNameserverRestarts(t *testing.T) {
	u := newUpstream(t, answerAll)
	s := start(t, testConfig(u.address), func(s *Server) { s.timing.attempt = 500 * time.Millisecond }) // lost packets
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	var asked atomic.Int64
	for i := range 4 {
		network := []string{"udp", "tcp"}[i%2]
		clients.Go(func() {
			for ctx.Err() == nil {
				out, err := tryAsk(s, network, newQuestion("example.com", dns.TypeA))
				if err != nil || len(out.Answer) != 1 {
					t.Errorf("over %s: %v\n%v", network, err, out)
				}
				asked.Add(1)
			}
		})
	}
	more := func() {
		n := asked.Load()
		poll.Until(t, "clients get answers", func() bool { return asked.Load() > n+100 })
	}
	for range 3 {
		more()
		u.stop()
		poll.Until(t, "questions wait for the nameserver", func() bool { return len(s.questions) == 4 })
		poll.Until(t, "the nameserver listens again", func() bool { return u.start(t) == nil })
	}
	more()
	cancel()
	clients.Wait()
	if c := s.Counts(); c.Failed != 0 || c.Forwarded != uint64(asked.Load()) {
		t.Errorf("%d questions, counts are %+v", asked.Load(), c)
	}
}
