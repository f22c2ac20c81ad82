package dns

import (
	"bytes"
	"net"
	"testing"

	"github.com/miekg/dns"
)

// cluster is the handler of a nameserver whose replies depend on the first label.
func cluster(w dns.ResponseWriter, in *dns.Msg) {
	out := new(dns.Msg).SetReply(in)
	q := in.Question[0]
	header := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: q.Qclass, Ttl: 1}
	switch dns.SplitDomainName(q.Name)[0] {
	case "missing":
		out.Rcode = dns.RcodeNameError
	case "failing":
		out.Rcode = dns.RcodeServerFailure
	case "refused":
		out.Rcode = dns.RcodeRefused
	case "long":
		if _, isUDP := w.RemoteAddr().(*net.UDPAddr); isUDP {
			out.Truncated = true
		}
		out.Compress = true
		for range 4000 {
			out.Answer = append(out.Answer, &dns.A{Hdr: header, A: net.IPv4(192, 0, 2, 1)})
		}
		if out.Truncated {
			out.Answer = out.Answer[:10]
		}
	case "compressed":
		out.Compress = true
		out.Answer = []dns.RR{&dns.CNAME{Hdr: header, Target: "other." + q.Name}}
	default:
		out.Answer = []dns.RR{&dns.RFC3597{Hdr: header, Rdata: "0102"}}
	}
	if opt := in.IsEdns0(); opt != nil {
		out.Extra = []dns.RR{opt}
	}
	_ = w.WriteMsg(out) // the client may be gone
}

// rejectedRecord is a record that nameservers do not accept in a question.
var rejectedRecord = &dns.A{Hdr: dns.RR_Header{Name: "example.com.", Rrtype: dns.TypeA, Class: dns.ClassINET}}

func TestOtherQuestionsAreForwardedByteByByte(t *testing.T) {
	u := newUpstream(t, cluster)
	s := start(t, testConfig(u.address))
	for _, test := range []struct {
		title  string
		name   string
		qtype  uint16
		change func(*dns.Msg)
	}{
		{"A", "example.com.", dns.TypeA, nil},
		{"unknown type", "example.com.", 65280, nil},
		{"mixed case", "eXample.COM.", dns.TypeA, nil},
		{"compressed reply", "compressed.example.com.", dns.TypeCNAME, nil},
		{"no such name", "missing.example.com.", dns.TypeA, nil},
		{"SERVFAIL of the nameserver", "failing.example.com.", dns.TypeA, nil},
		{"REFUSED by the nameserver", "refused.example.com.", dns.TypeA, nil},
		{"truncated over UDP, long over TCP", "long.example.com.", dns.TypeA, nil},
		{"below a name in the table", "www.color.apps.pvt.local.", dns.TypeA, nil},
		{"above a name in the table", "apps.pvt.local.", dns.TypeA, nil},
		{"two search domains", "short.ns.svc.cluster.local.cluster.local.", dns.TypeA, nil},
		{"search domain only", "ns.svc.cluster.local.", dns.TypeA, nil},
		{"dot inside of a label", `color\.apps.pvt.local.`, dns.TypeA, nil},
		{"reverse name", "1.0.0.10.in-addr.arpa.", dns.TypePTR, nil},
		{"EDNS with options and the DO bit", "example.com.", dns.TypeDNSKEY, func(m *dns.Msg) {
			m.SetEdns0(4096, true)
			m.IsEdns0().Option = []dns.EDNS0{
				&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0102030405060708"},
				&dns.EDNS0_LOCAL{Code: 65001, Data: []byte{1, 2, 3}},
			}
		}},
		{"checking disabled, authenticated data", "example.com.", dns.TypeA, func(m *dns.Msg) {
			m.CheckingDisabled, m.AuthenticatedData, m.RecursionDesired = true, true, false
		}},
		{"other class than IN, name in the table", "color.apps.pvt.local.", dns.TypeTXT, func(m *dns.Msg) {
			m.Question[0].Qclass = dns.ClassCHAOS
		}},
		{"other opcode, name in the table", "color.apps.pvt.local.", dns.TypeSOA, func(m *dns.Msg) {
			m.Opcode = dns.OpcodeNotify
		}},
		{"UPDATE, rejected by the nameserver", "color.apps.pvt.local.", dns.TypeSOA, func(m *dns.Msg) {
			m.Opcode = dns.OpcodeUpdate
		}},
		{"two questions, rejected by the nameserver", "color.apps.pvt.local.", dns.TypeA, func(m *dns.Msg) {
			m.Question = append(m.Question, m.Question[0])
		}},
		{"two questions, NOTIFY, rejected with opcode QUERY", "example.com.", dns.TypeSOA, func(m *dns.Msg) {
			m.Opcode = dns.OpcodeNotify
			m.Question = append(m.Question, m.Question[0])
		}},
		{"two answers, NOTIFY, rejected with opcode QUERY", "example.com.", dns.TypeSOA, func(m *dns.Msg) {
			m.Opcode = dns.OpcodeNotify
			m.Answer = []dns.RR{rejectedRecord, rejectedRecord}
		}},
		{"two OPT records, name in the table", "color.apps.pvt.local.", dns.TypeA, func(m *dns.Msg) {
			m.SetEdns0(1232, false).SetEdns0(1232, false)
		}},
	} {
		packed := newQuestion(test.name, test.qtype)
		if test.change != nil {
			test.change(packed)
		}
		msg, err := packed.Pack()
		if err != nil {
			t.Fatal(err)
		}
		for _, network := range []string{"udp", "tcp"} {
			t.Run(test.title+" over "+network, func(t *testing.T) { checkForwarded(t, s, u, network, msg) })
		}
	}
	if c := s.Counts(); c.Forwarded == 0 || c.Answered != 0 || c.Failed != 0 || c.Dropped != 0 {
		t.Errorf("counts are %+v", c)
	}
}

func checkForwarded(t *testing.T, s *Server, u *upstream, network string, msg []byte) {
	t.Helper()
	out := askRaw(t, s, network, msg)
	questions, replies := u.recorded()
	if len(questions) != 1 || !bytes.Equal(questions[0], msg) {
		t.Errorf("the nameserver received %.200x; want %.200x", questions, msg)
	}
	if len(replies) != 1 || !bytes.Equal(replies[0], out) {
		t.Errorf("the client received %.200x; the nameserver sent %.200x", out, replies)
	}
}

func TestMalformedMessagesAreForwarded(t *testing.T) {
	u := newUpstream(t, cluster)
	s := start(t, testConfig(u.address))
	plain, err := newQuestion("color.apps.pvt.local.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	opt := []byte{0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 5} // its option is missing
	withOPT := append(bytes.Clone(plain), opt...)
	withOPT[11] = 1
	for title, msg := range map[string][]byte{
		"name without end":      plain[:len(plain)-6],
		"question without type": plain[:len(plain)-3],
		"malformed OPT record":  withOPT,
	} {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(title+" over "+network, func(t *testing.T) { checkForwarded(t, s, u, network, msg) })
		}
	}
}

func TestMessagesWithoutReply(t *testing.T) {
	s := start(t, testConfig())
	response, err := new(dns.Msg).SetReply(newQuestion("short", dns.TypeA)).Pack()
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, s, "udp")
	defer conn.Close()
	for title, msg := range map[string][]byte{
		"empty": {}, "shorter than a header": make([]byte, headerSize-1), "response": response,
	} {
		t.Run(title, func(t *testing.T) {
			before := s.Counts().Dropped
			if _, err := conn.Write(msg); err != nil {
				t.Fatal(err)
			}
			// The server reads in order: the reply to the next question is the first one.
			next := newQuestion("short", dns.TypeA)
			if err := conn.WriteMsg(next); err != nil {
				t.Fatal(err)
			}
			if out, err := conn.ReadMsg(); err != nil || out.Id != next.Id {
				t.Fatalf("want a reply to the next question only, got %v\n%v", err, out)
			}
			if after := s.Counts().Dropped; after != before+1 {
				t.Errorf("%d messages counted as dropped", after-before)
			}
		})
	}
}
