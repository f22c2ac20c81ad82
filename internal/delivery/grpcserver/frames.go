package grpcserver

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/status"
)

// Sizes of HTTP/2 and gRPC, in bytes.
const (
	frameHeader = 9
	// smallestFrame is the length of frames that everyone takes (RFC 9113, 4.2), and of ours that others may send.
	smallestFrame = 16 << 10
	// prefix of a gRPC message: whether it is compressed, and its length in four bytes.
	prefix = 5
	// firstWindow is what either side may send at first (RFC 9113, 6.9.2), and largestWindow what a window can be at most.
	firstWindow   = 1<<16 - 1
	largestWindow = 1<<31 - 1
	// headerList bounds the headers of a request.
	headerList = 16 << 10
)

// Places in the header of a frame (RFC 9113, 4.1).
const (
	kindAt   = 3
	flagsAt  = 4
	streamAt = 5
)

// first is the first frame, with those that continue its headers; empty if not all of it is there.
func first(b []byte) ([]byte, error) {
	for n := 0; ; {
		if len(b) < n+frameHeader {
			return nil, nil
		}
		size := int(b[n])<<16 | int(b[n+1])<<8 | int(b[n+2])
		if size > smallestFrame {
			return nil, http2.ConnectionError(http2.ErrCodeFrameSize)
		}
		if n > 2*headerList {
			return nil, http2.ConnectionError(http2.ErrCodeProtocol) // headers without end
		}
		kind, flags := http2.FrameType(b[n+kindAt]), http2.Flags(b[n+flagsAt])
		opens := kind == http2.FrameHeaders || kind == http2.FrameContinuation && n > 0
		if n += frameHeader + size; len(b) < n {
			return nil, nil
		}
		if !opens || flags.Has(http2.FlagHeadersEndHeaders) {
			return b[:n], nil // if something else comes between headers, the framer says so
		}
	}
}

func appendFrame(b []byte, kind http2.FrameType, flags http2.Flags, stream uint32, length int) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags))
	return binary.BigEndian.AppendUint32(b, stream)
}

func appendSettings(b []byte, settings ...http2.Setting) []byte {
	b = appendFrame(b, http2.FrameSettings, 0, 0, 6*len(settings))
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, uint16(s.ID))
		b = binary.BigEndian.AppendUint32(b, s.Val)
	}
	return b
}

func appendWindowUpdate(b []byte, stream uint32, by int) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, http2.FrameWindowUpdate, 0, stream, 4), uint32(by))
}

func appendReset(b []byte, stream uint32, code http2.ErrCode) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, http2.FrameRSTStream, 0, stream, 4), uint32(code))
}

func appendGoAway(b []byte, last uint32, code http2.ErrCode) []byte {
	b = appendFrame(b, http2.FrameGoAway, 0, 0, 8)
	b = binary.BigEndian.AppendUint32(b, last)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

// ok is the field ":status: 200" of HPACK's static table (RFC 7541, appendix A).
const ok = 0x88

// appendField writes a header that is not indexed (RFC 7541, 6.2.2), so that no state is kept of what was sent.
func appendField(b []byte, name, value string) []byte {
	b = append(b, 0)
	for _, text := range []string{name, value} {
		b = appendInteger(b, len(text))
		b = append(b, text...)
	}
	return b
}

// appendInteger writes one of HPACK's integers behind one bit, which is 0 (RFC 7541, 5.1).
func appendInteger(b []byte, n int) []byte {
	const most = 1<<7 - 1
	if n < most {
		return append(b, byte(n))
	}
	b = append(b, most)
	for n -= most; n >= 1<<7; n >>= 7 {
		b = append(b, byte(n)|1<<7)
	}
	return append(b, byte(n))
}

// responseHeaders begin every response.
var responseHeaders = appendField([]byte{ok}, "content-type", "application/grpc")

func appendHeaders(b []byte, stream uint32) []byte {
	b = appendFrame(b, http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, len(responseHeaders))
	return append(b, responseHeaders...)
}

// appendTrailers ends a response, and is all of it if there were no headers yet.
func appendTrailers(b []byte, stream uint32, end *status.Status, headers bool) []byte {
	var block []byte
	if headers {
		block = append(block, responseHeaders...)
	}
	block = appendField(block, "grpc-status", strconv.Itoa(int(end.Code())))
	if text := end.Message(); text != "" {
		block = appendField(block, "grpc-message", escape(text))
	}
	b = appendFrame(b, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, stream, len(block))
	return append(b, block...)
}

// longestText is how much of an error's text is sent, in bytes; headers have to fit into one frame.
const longestText = 4 << 10

// escape is gRPC's percent-encoding of a status message: all but printable ASCII, and the percent sign itself.
func escape(text string) string {
	const hex = "0123456789ABCDEF"
	if len(text) > longestText {
		end := longestText
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	b := make([]byte, 0, len(text))
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			b = append(b, '%', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}
