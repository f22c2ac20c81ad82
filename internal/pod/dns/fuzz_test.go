package dns

import (
	"bytes"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// seeds are messages near the boundaries between answered, forwarded and dropped ones.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	var out [][]byte
	add := func(name string, qtype uint16, change func(*dns.Msg)) {
		m := newQuestion(name, qtype)
		change(m)
		packed, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, packed, packed[:len(packed)-1], append(bytes.Clone(packed), 0))
	}
	longest := strings.Repeat(strings.Repeat("a", 60)+".", 4)
	for _, name := range []string{
		"color.apps.pvt.local", "Many.apps.pvt.LOCAL", "short.cluster.local", "example.com", ".", longest, `a\.b\000.c`,
	} {
		add(name, dns.TypeA, func(*dns.Msg) {})
		add(name, dns.TypeAAAA, func(m *dns.Msg) { m.SetEdns0(1232, true) })
		add(name, dns.TypeANY, func(m *dns.Msg) { m.SetEdns0(0, false).IsEdns0().SetVersion(1) })
		add(name, dns.TypeTXT, func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassANY })
		add(name, dns.TypeAXFR, func(m *dns.Msg) { m.SetEdns0(65535, false).SetEdns0(1, false) })
		add(name, dns.TypeSOA, func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate })
		add(name, dns.TypeA, func(m *dns.Msg) { m.Response = true })
		add(name, dns.TypeA, func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) })
		add(name, dns.TypeA, func(m *dns.Msg) { m.Question = nil })
		add(name, dns.TypeA, func(m *dns.Msg) { m.SetTsig("key.", dns.HmacSHA256, 300, 0) })
	}
	header := []byte{1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	return append(out, nil, header, header[:11],
		append(bytes.Clone(header), 0xc0, 12, 0, 1, 0, 1),                 // name that points to itself
		append(bytes.Clone(header), 0x40, 1, 0, 0, 1, 0, 1),               // reserved label type
		append(bytes.Clone(header), 5, 's', 'h', 'o', 'r'),                // name without end
		append(bytes.Clone(header), 1, '.', 0, 0, 1, 0, 1),                // dot inside of a label
		append(bytes.Clone(header), 1, 0xff, 0, 0, 1, 0, 1),               // byte that is no character
		append(bytes.Clone(header), bytes.Repeat([]byte{1, 'a'}, 200)...), // too long name
	)
}

// FuzzQuestion checks that no message of a client makes the server panic, and that each reply is for its question.
func FuzzQuestion(f *testing.F) {
	for _, msg := range seeds(f) {
		f.Add(msg)
	}
	s, err := New(testConfig())
	if err != nil {
		f.Fatal(err)
	}
	s.SetNames(names)
	f.Fuzz(func(t *testing.T, msg []byte) {
		if len(msg) > maxMessageSize {
			return
		}
		for over, limit := range map[transport]int{overUDP: maxUDPAnswer, overTCP: maxMessageSize} {
			before := bytes.Clone(msg)
			var buffer [maxNameSize]byte
			v, out, q := s.handle(msg, over, &buffer)
			if !bytes.Equal(msg, before) {
				t.Fatal("the message is changed")
			}
			switch v {
			case drop:
				if len(msg) >= headerSize && msg[2]&bitResponse == 0 {
					t.Error("a question is dropped")
				}
			case reply:
				if len(out) > limit || !isReply(out, msg, q) || !bytes.Equal(out[headerSize:q.end], msg[headerSize:q.end]) {
					t.Errorf("%d bytes, or another question: %x", len(out), out)
				}
				if err := new(dns.Msg).Unpack(out); err != nil {
					t.Errorf("%v: %x", err, out)
				}
			case forward:
				checkForwardable(t, msg, q)
			}
		}
	})
}

// checkForwardable checks everything that a forwarded message passes through.
func checkForwardable(t *testing.T, msg []byte, q question) {
	t.Helper()
	if size := replySize(msg, q); size < dns.MinMsgSize || size > maxMessageSize {
		t.Errorf("a buffer of %d bytes", size)
	}
	if !isReply(failure(msg), msg, q) {
		t.Errorf("SERVFAIL is not a reply to the question: %x", failure(msg))
	}
	if out := truncation(msg); len(out) < headerSize || out[0] != msg[0] || out[1] != msg[1] || out[2]&bitResponse == 0 {
		t.Errorf("not a truncated reply: %x", out)
	}
	echo := bytes.Clone(msg)
	echo[2] |= bitResponse
	if q.end > 0 && !isReply(echo, msg, q) {
		t.Error("the message itself, as a response, is not a reply")
	}
	for n := range min(len(echo), headerSize+maxNameSize) {
		isReply(echo[:n], msg, q)
	}
}
