package dns

import (
	"net/netip"

	"github.com/miekg/dns"
)

// maxUDPAnswer is the limit of our answers over UDP with EDNS: with the headers of IPv6 and UDP, it is the smallest MTU
// of IPv6.
const maxUDPAnswer = 1232

type transport int

const (
	overUDP transport = iota
	overTCP
)

// verdict says what to do with a message of a client.
type verdict int

const (
	drop verdict = iota
	reply
	forward
	wait // for the addresses of the name
)

// handle decides about a message of a client, and answers it if its name is in the table. The name of the returned
// question is in the buffer.
func (s *Server) handle(msg []byte, over transport, buffer *[maxNameSize]byte) (verdict, []byte, question) {
	if len(msg) < headerSize || msg[2]&bitResponse != 0 {
		return drop, nil, question{}
	}
	q := parseQuestion(msg, buffer)
	if msg[2]&maskOpcode != dns.OpcodeQuery<<3 || q.qclass != dns.ClassINET || len(q.name) == 0 {
		return forward, nil, q
	}
	e := s.lookup(q.name)
	if e == nil {
		return forward, nil, q
	}
	if e.pending {
		return wait, nil, q
	}
	out := e.answer(msg, over)
	if out == nil {
		return forward, nil, q
	}
	return reply, out, q
}

// answer returns the answer to a message with one question about the name of the entry. It returns nil if the message
// is malformed after the question.
func (e *entry) answer(msg []byte, over transport) []byte {
	var in dns.Msg
	if in.Unpack(msg) != nil || countOPT(&in) > 1 {
		return nil
	}
	out := newReply(&in)
	out.Authoritative = true
	opt := in.IsEdns0()
	switch q := in.Question[0]; {
	case opt != nil && opt.Version() != 0:
		out.Authoritative = false
		out.Rcode = dns.RcodeBadVers
	case q.Qtype == dns.TypeA:
		out.Answer = e.records(q, e.ipv4)
	case q.Qtype == dns.TypeAAAA:
		out.Answer = e.records(q, e.ipv6)
	}
	if out.Rcode == dns.RcodeSuccess && len(out.Answer) == 0 {
		out.Ns = []dns.RR{e.soa(in.Question[0].Name)}
	}
	size := maxMessageSize
	if over == overUDP {
		size = dns.MinMsgSize
		if opt != nil {
			size = min(max(int(opt.UDPSize()), dns.MinMsgSize), maxUDPAnswer)
		}
	}
	out.Truncate(size)
	packed, err := out.Pack()
	if err != nil {
		return nil
	}
	return packed
}

func (e *entry) records(q dns.Question, addresses []netip.Addr) []dns.RR {
	header := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: e.ttl}
	out := make([]dns.RR, 0, len(addresses))
	for _, a := range shuffled(addresses) {
		if q.Qtype == dns.TypeA {
			out = append(out, &dns.A{Hdr: header, A: a.AsSlice()})
		} else {
			out = append(out, &dns.AAAA{Hdr: header, AAAA: a.AsSlice()})
		}
	}
	return out
}

// soa returns the record that lets resolvers cache a negative answer: they use the lower of its TTL and its minimum.
// Each name is a zone of its own. Only secondary servers use the other values.
func (e *entry) soa(name string) dns.RR {
	return &dns.SOA{
		Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: e.ttl},
		Ns:  name, Mbox: "nobody.invalid.", Serial: 1, Refresh: 3600, Retry: 1200, Expire: 604800, Minttl: e.ttl,
	}
}

// newReply returns an empty reply. It has an OPT record if and only if the question has one (RFC 6891, section 6.1.1).
func newReply(in *dns.Msg) *dns.Msg {
	out := new(dns.Msg).SetReply(in)
	out.RecursionAvailable = true
	if opt := in.IsEdns0(); opt != nil {
		out.SetEdns0(maxUDPAnswer, opt.Do())
	}
	return out
}

func countOPT(in *dns.Msg) int {
	n := 0
	for _, r := range in.Extra {
		if r.Header().Rrtype == dns.TypeOPT {
			n++
		}
	}
	return n
}

// failure returns a SERVFAIL reply.
func failure(msg []byte) []byte {
	return errorReply(msg, func(out *dns.Msg) { out.Rcode = dns.RcodeServerFailure })
}

// truncation returns a reply that makes the client repeat the question over TCP.
func truncation(msg []byte) []byte {
	return errorReply(msg, func(out *dns.Msg) { out.Truncated = true })
}

// errorReply returns a reply without records. A message that cannot be unpacked gets a reply without question.
func errorReply(msg []byte, set func(*dns.Msg)) []byte {
	var in dns.Msg
	if in.Unpack(msg) == nil {
		out := newReply(&in)
		set(out)
		if packed, err := out.Pack(); err == nil {
			return packed
		}
	}
	out := new(dns.Msg)
	out.Id = uint16(msg[0])<<8 | uint16(msg[1])
	out.Opcode = int(msg[2] & maskOpcode >> 3)
	out.Response, out.RecursionAvailable = true, true
	out.RecursionDesired = msg[2]&bitRecursion != 0
	set(out)
	packed, err := out.Pack()
	if err != nil {
		return nil // a message without names and records can be packed
	}
	return packed
}
