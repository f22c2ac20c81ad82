package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// dnsQuestion is a message that is sent to CoreDNS, directly and through the agent.
type dnsQuestion struct {
	title string
	msg   []byte
	// shuffled is true if CoreDNS replies with records in random order.
	shuffled bool
}

// questionList collects questions.
type questionList struct {
	t   *testing.T
	all []dnsQuestion
}

// add adds a question with a change.
func (l *questionList) add(title, name string, qtype uint16, change func(*dns.Msg)) {
	l.t.Helper()
	m := new(dns.Msg).SetQuestion(name, qtype)
	m.Id = 4660 // the reply has the same
	if change != nil {
		change(m)
	}
	packed, err := m.Pack()
	if err != nil {
		l.t.Fatalf("%s: %v", title, err)
	}
	l.all = append(l.all, dnsQuestion{
		title: fmt.Sprintf("%s %s: %s", name, dns.TypeToString[qtype], title), msg: packed,
		shuffled: strings.Contains(strings.ToLower(name), headlessPrefix) || qtype == dns.TypeSRV,
	})
}

func (l *questionList) raw(title string, msg []byte) {
	l.all = append(l.all, dnsQuestion{title: title, msg: msg})
}

// headlessPrefix is part of the names of Services with several addresses. Plugin loadbalance shuffles them, and the
// additional records of SRV answers.
const headlessPrefix = "headless-"

// dnsQuestions returns the table. The IP addresses are those of a Service, for reverse lookups.
func dnsQuestions(t *testing.T, reverse []string) []dnsQuestion {
	l := &questionList{t: t}
	l.addNames(reverse)
	for _, name := range []string{
		"plain.names-table.svc.cluster.local.", "missing.names-table.svc.cluster.local.", "example.com.",
		headlessPrefix + "40.names-table.svc.cluster.local.", headlessPrefix + "300.names-table.svc.cluster.local.",
	} {
		l.addEDNS(name)
	}
	for _, name := range []string{"plain.names-table.svc.cluster.local.", "example.com.", lookedUp[0] + "."} {
		l.addOthers(name)
	}
	l.addMalformed()
	return l.all
}

func (l *questionList) addNames(reverse []string) {
	types := []uint16{
		dns.TypeA, dns.TypeAAAA, dns.TypeSRV, dns.TypePTR, dns.TypeTXT, dns.TypeNS, dns.TypeSOA, dns.TypeANY, dns.TypeMX,
		dns.TypeCNAME, dns.TypeHTTPS, dns.TypeDS, dns.TypeAXFR, dns.TypeIXFR, dns.TypeOPT, 65280,
	}
	names := append([]string{
		"plain.names-table.svc.cluster.local.", "_http._tcp.plain.names-table.svc.cluster.local.",
		headlessPrefix + "3.names-table.svc.cluster.local.", "_http._tcp." + headlessPrefix + "3.names-table.svc.cluster.local.",
		"a0.headless-3.names-table.svc.cluster.local.", "external.names-table.svc.cluster.local.",
		"missing.names-table.svc.cluster.local.", "plain.missing.svc.cluster.local.", "names-table.svc.cluster.local.",
		"svc.cluster.local.", "cluster.local.", "ns.dns.cluster.local.", "dns-version.cluster.local.",
		"10-1-2-3.names-table.pod.cluster.local.", "*.names-table.svc.cluster.local.",
		"example.com.", "com.", ".", "local.", "aws.local.", "apps.pvt.aws.local.", "www.hidden.apps.pvt.aws.local.",
		"example.com.lookups.svc.cluster.local.", "plain.names-table.lookups.svc.cluster.local.",
		"1.2.0.192.in-addr.arpa.", "in-addr.arpa.", "localhost.", `a\.b.example.com.`, `a\000\255.example.com.`,
		strings.Repeat(strings.Repeat("a", 60)+".", 4),
	}, reverse...)
	for _, name := range names {
		for _, qtype := range types {
			l.add("plain", name, qtype, nil)
		}
		// The cache of CoreDNS keeps the case of the first question: no other question has this type.
		l.add("mixed case", mixedCase(name), dns.TypeCAA, nil)
	}
	for _, name := range names[:3] {
		l.add("mixed case", mixedCase(name), dns.TypeA, nil)
	}
}

func mixedCase(name string) string {
	out := []byte(name)
	for i := 0; i < len(out); i += 2 {
		out[i] = bytes.ToUpper(out[i : i+1])[0]
	}
	return string(out)
}

func (l *questionList) addEDNS(name string) {
	for _, size := range []uint16{0, 512, 1232, 4096, 65535} {
		for _, do := range []bool{false, true} {
			l.add(fmt.Sprintf("EDNS, %d bytes, DO %v", size, do), name, dns.TypeA, func(m *dns.Msg) { m.SetEdns0(size, do) })
		}
	}
	for title, option := range map[string]dns.EDNS0{
		"cookie":        &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0102030405060708"},
		"client subnet": &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: 24, Address: []byte{192, 0, 2, 0}},
		"padding":       &dns.EDNS0_PADDING{Padding: make([]byte, 20)},
		"NSID":          &dns.EDNS0_NSID{Code: dns.EDNS0NSID},
		"keepalive":     &dns.EDNS0_TCP_KEEPALIVE{Code: dns.EDNS0TCPKEEPALIVE},
		"unknown":       &dns.EDNS0_LOCAL{Code: 65001, Data: []byte{1, 2, 3}},
	} {
		l.add("EDNS option "+title, name, dns.TypeA, func(m *dns.Msg) {
			m.SetEdns0(1232, true)
			m.IsEdns0().Option = []dns.EDNS0{option}
		})
	}
	l.add("EDNS version 1", name, dns.TypeA, func(m *dns.Msg) { m.SetEdns0(1232, false).IsEdns0().SetVersion(1) })
	l.add("EDNS version 255", name, dns.TypeA, func(m *dns.Msg) { m.SetEdns0(1232, true).IsEdns0().SetVersion(255) })
	l.add("EDNS with unknown flags", name, dns.TypeA, func(m *dns.Msg) { m.SetEdns0(1232, false).IsEdns0().SetZ(0x2aaa) })
}

// addOthers adds questions that are not plain. The agent answers those about its own names that have one question,
// class IN and opcode QUERY: they are omitted.
func (l *questionList) addOthers(name string) {
	answered := name == lookedUp[0]+"."
	for title, change := range map[string]func(*dns.Msg){
		"CD":                  func(m *dns.Msg) { m.CheckingDisabled = true },
		"AD":                  func(m *dns.Msg) { m.AuthenticatedData = true },
		"AD, CD and DO":       func(m *dns.Msg) { m.AuthenticatedData, m.CheckingDisabled = true, true; m.SetEdns0(1232, true) },
		"no RD":               func(m *dns.Msg) { m.RecursionDesired = false },
		"Z":                   func(m *dns.Msg) { m.Zero = true },
		"AA, TC, RA, NOTAUTH": func(m *dns.Msg) { m.Authoritative, m.Truncated, m.RecursionAvailable, m.Rcode = true, true, true, 9 },
	} {
		if !answered {
			l.add(title, name, dns.TypeA, change)
		}
	}
	for _, class := range []uint16{dns.ClassCHAOS, dns.ClassHESIOD, dns.ClassNONE, dns.ClassANY, 65280} {
		l.add("class "+dns.Class(class).String(), name, dns.TypeA, func(m *dns.Msg) { m.Question[0].Qclass = class })
	}
	l.add("class CH", "version.bind.", dns.TypeTXT, func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS })
	for opcode := 1; opcode < 16; opcode++ {
		l.add(fmt.Sprintf("opcode %d", opcode), name, dns.TypeA, func(m *dns.Msg) { m.Opcode = opcode })
		l.add(fmt.Sprintf("opcode %d with EDNS", opcode), name, dns.TypeA, func(m *dns.Msg) {
			m.Opcode = opcode
			m.SetEdns0(1232, false)
		})
	}
	record := &dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: []byte{192, 0, 2, 1}}
	for title, change := range map[string]func(*dns.Msg){
		"two questions": func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) },
		"no question":   func(m *dns.Msg) { m.Question = nil },
		"two answers":   func(m *dns.Msg) { m.Answer = []dns.RR{record, record} },
		"three extras":  func(m *dns.Msg) { m.Extra = []dns.RR{record, record, record} },
		"three OPT":     func(m *dns.Msg) { m.SetEdns0(1232, false).SetEdns0(1232, false).SetEdns0(1232, false) },
		"two OPT":       func(m *dns.Msg) { m.SetEdns0(1232, false).SetEdns0(1232, false) },
		"response":      func(m *dns.Msg) { m.Response = true },
	} {
		if !answered || title != "two answers" && title != "three extras" {
			l.add(title, name, dns.TypeA, change)
		}
		l.add(title+", NOTIFY", name, dns.TypeA, func(m *dns.Msg) {
			m.Opcode = dns.OpcodeNotify
			change(m)
		})
	}
}

func (l *questionList) addMalformed() {
	header := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	plain, err := new(dns.Msg).SetQuestion("plain.names-table.svc.cluster.local.", dns.TypeA).Pack()
	if err != nil {
		l.t.Fatal(err)
	}
	plain[0], plain[1] = header[0], header[1]
	with := func(additional byte, rest ...byte) []byte {
		out := append(bytes.Clone(plain), rest...)
		out[11] = additional
		return out
	}
	opt := []byte{0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 5} // its option is missing
	for title, msg := range map[string][]byte{
		"empty":                         {},
		"one byte":                      header[:1],
		"header without last byte":      header[:11],
		"header only":                   header,
		"name without end":              plain[:len(plain)-6],
		"question without type":         plain[:len(plain)-4],
		"question without class":        plain[:len(plain)-2],
		"trailing byte":                 with(0, 1),
		"OPT without option":            with(1, opt...),
		"missing additional record":     with(1),
		"additional record without end": with(1, 0, 0, 1, 0),
		"name that points to itself":    append(bytes.Clone(header), 0xc0, 12, 0, 1, 0, 1),
		"pointer beyond the end":        append(bytes.Clone(header), 0xc0, 200, 0, 1, 0, 1),
		"reserved type of label":        append(bytes.Clone(header), 0x40, 1, 0, 0, 1, 0, 1),
		"label beyond the end":          append(bytes.Clone(header), 5, 's', 'h'),
		"too long name":                 append(append(bytes.Clone(header), bytes.Repeat([]byte{1, 'a'}, 200)...), 0, 0, 1, 0, 1),
		"question of 600 bytes":         with(1, append([]byte{0, 0, 41, 4, 208, 0, 0, 0, 0, 2, 0, 0xfd, 0xe9, 1, 0xfc}, make([]byte, 508)...)...),
	} {
		l.raw(title, msg)
	}
}
