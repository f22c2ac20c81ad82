package dns

import (
	"encoding/binary"

	"github.com/miekg/dns"
)

// Sizes and limits of messages, in bytes (RFC 1035, section 4).
const (
	headerSize   = 12
	maxNameSize  = 255
	maxLabelSize = 63
	typeAndClass = 4
)

// Bits of the third and fourth byte of a message.
const (
	bitResponse  = 0x80
	maskOpcode   = 0x78
	bitRecursion = 0x01 // desired
	maskRcode    = 0x0f
)

// question is the question section of a message with exactly one question. Forwarded messages are not unpacked further.
type question struct {
	name   []byte // lower-case, labels separated by dots, without trailing dot; nil if a label has a dot inside
	qtype  uint16
	qclass uint16
	end    int // offset of the byte after the question section; 0 if the section is malformed
}

// parseQuestion parses the question section. The message has a complete header. The name is written to the buffer.
// Names in questions are never compressed: there is nothing before them to point to.
func parseQuestion(msg []byte, buffer *[maxNameSize]byte) question {
	if binary.BigEndian.Uint16(msg[4:]) != 1 {
		return question{}
	}
	name, at, isHost := buffer[:0], headerSize, true
	for {
		if at >= len(msg) {
			return question{}
		}
		size := int(msg[at])
		at++
		if size == 0 {
			break
		}
		if size > maxLabelSize || at+size > len(msg) || at+size+1-headerSize > maxNameSize {
			return question{}
		}
		if len(name) > 0 {
			name = append(name, '.')
		}
		for _, c := range msg[at : at+size] {
			isHost = isHost && c != '.'
			name = append(name, lower(c))
		}
		at += size
	}
	if at+typeAndClass > len(msg) {
		return question{}
	}
	q := question{
		qtype: binary.BigEndian.Uint16(msg[at:]), qclass: binary.BigEndian.Uint16(msg[at+2:]), end: at + typeAndClass,
	}
	if isHost {
		q.name = name
	}
	return q
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// replySize returns the maximum size of a reply over UDP: 512 bytes without EDNS, or the size in the OPT record of the
// client, which usually follows the question directly. Some servers exceed the limits, so that it is at least 1232.
func replySize(msg []byte, q question) int {
	const usual = maxUDPAnswer
	additional := binary.BigEndian.Uint16(msg[10:])
	switch {
	case additional == 0:
		return usual
	case q.end > 0 && len(msg) >= q.end+5 && msg[q.end] == 0 &&
		binary.BigEndian.Uint16(msg[q.end+1:]) == dns.TypeOPT:
		return max(usual, int(binary.BigEndian.Uint16(msg[q.end+3:])))
	default:
		return maxMessageSize
	}
}

// isReply tells whether a message is the reply to the question: same ID, same opcode and same question section. Servers
// may change the case of names. Servers that reject a question may reply with an error, without question, and with
// opcode QUERY.
func isReply(reply, msg []byte, q question) bool {
	if len(reply) < headerSize || reply[0] != msg[0] || reply[1] != msg[1] || reply[2]&bitResponse == 0 {
		return false
	}
	opcode := reply[2] & maskOpcode
	sameOpcode := opcode == msg[2]&maskOpcode
	if binary.BigEndian.Uint16(reply[4:]) == 0 && (sameOpcode || opcode == dns.OpcodeQuery<<3) {
		switch reply[3] & maskRcode {
		case dns.RcodeFormatError, dns.RcodeServerFailure, dns.RcodeNotImplemented, dns.RcodeRefused:
			return true
		}
	}
	if !sameOpcode {
		return false
	}
	if q.end == 0 {
		return true
	}
	if binary.BigEndian.Uint16(reply[4:]) != 1 || len(reply) < q.end {
		return false
	}
	name := q.end - typeAndClass
	for i := headerSize; i < name; i++ {
		if lower(reply[i]) != lower(msg[i]) {
			return false
		}
	}
	return string(reply[name:q.end]) == string(msg[name:q.end])
}
