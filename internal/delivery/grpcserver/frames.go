package grpcserver

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/truncate"
)

// Sizes of HTTP/2 and gRPC, in bytes.
const (
	frameHeaderLen = 9
	// maxFrameSize is the frame size that every endpoint accepts (RFC 9113, 4.2). The server sends and accepts frames
	// of at most this size.
	maxFrameSize = 16 << 10
	// messagePrefixLen is the length of a gRPC message prefix: compressed flag and 4 bytes length.
	messagePrefixLen = 5
	// initialWindowSize is the initial flow-control window (RFC 9113, 6.9.2), maxWindowSize the largest.
	initialWindowSize = 1<<16 - 1
	maxWindowSize     = 1<<31 - 1
	// streamWindowSize is the window of a stream for data that the server receives. Clients that have not received the
	// server's SETTINGS yet may use initialWindowSize.
	streamWindowSize = 16 << 10
	// MaxHeaderListSize limits the headers of a request.
	MaxHeaderListSize = 16 << 10
)

// Offsets in the header of a frame (RFC 9113, 4.1).
const (
	typeOffset     = 3
	flagsOffset    = 4
	streamIDOffset = 5
)

// nextFrame returns the first frame of b, with its CONTINUATION frames. If the input is incomplete, it returns nil, and
// the length up to which more is known.
func nextFrame(b []byte) (frame []byte, need int, err error) {
	for n := 0; ; {
		if len(b) < n+frameHeaderLen {
			return nil, n + frameHeaderLen, nil
		}
		size := int(b[n])<<16 | int(b[n+1])<<8 | int(b[n+2])
		if size > maxFrameSize {
			return nil, 0, http2.ConnectionError(http2.ErrCodeFrameSize)
		}
		if n > 2*MaxHeaderListSize {
			return nil, 0, http2.ConnectionError(http2.ErrCodeProtocol) // endless CONTINUATION frames
		}
		kind, flags := http2.FrameType(b[n+typeOffset]), http2.Flags(b[n+flagsOffset])
		opens := kind == http2.FrameHeaders || kind == http2.FrameContinuation && n > 0
		if n += frameHeaderLen + size; len(b) < n {
			return nil, n, nil
		}
		if !opens || flags.Has(http2.FlagHeadersEndHeaders) {
			return b[:n], n, nil // the framer reports other frames within a header block
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

func appendRSTStream(b []byte, stream uint32, code http2.ErrCode) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, http2.FrameRSTStream, 0, stream, 4), uint32(code))
}

func appendGoAway(b []byte, last uint32, code http2.ErrCode) []byte {
	b = appendFrame(b, http2.FrameGoAway, 0, 0, 8)
	b = binary.BigEndian.AppendUint32(b, last)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

// hpackStatus200 is the index of ":status: 200" in the static table of HPACK (RFC 7541, appendix A).
const hpackStatus200 = 0x88

// appendHPACKField appends a literal header field without indexing (RFC 7541, 6.2.2), so that the encoder has no
// state.
func appendHPACKField(b []byte, name, value string) []byte {
	b = append(b, 0)
	for _, text := range []string{name, value} {
		b = appendHPACKInteger(b, len(text))
		b = append(b, text...)
	}
	return b
}

// appendHPACKInteger appends an HPACK integer with a 7-bit prefix and a first bit of 0 (RFC 7541, 5.1).
func appendHPACKInteger(b []byte, n int) []byte {
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

// responseHeaders is the encoded header block of every response.
var responseHeaders = appendHPACKField([]byte{hpackStatus200}, "content-type", "application/grpc")

func appendResponseHeaders(b []byte, stream uint32) []byte {
	b = appendFrame(b, http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, len(responseHeaders))
	return append(b, responseHeaders...)
}

// appendTrailers appends the trailers of a response. headers adds the response headers, if none were sent
// (Trailers-Only).
func appendTrailers(b []byte, stream uint32, end *status.Status, headers bool) []byte {
	var block []byte
	if headers {
		block = append(block, responseHeaders...)
	}
	block = appendHPACKField(block, "grpc-status", strconv.Itoa(int(end.Code())))
	if text := end.Message(); text != "" {
		block = appendHPACKField(block, "grpc-message", encodeStatusMessage(text))
	}
	b = appendFrame(b, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, stream, len(block))
	return append(b, block...)
}

// appendHTTPError appends the response to a request that is not gRPC, with the status of both protocols.
func appendHTTPError(b []byte, stream uint32, httpStatus int, end *status.Status) []byte {
	block := appendHPACKField(nil, ":status", strconv.Itoa(httpStatus))
	block = appendHPACKField(block, "content-type", "application/grpc")
	block = appendHPACKField(block, "grpc-status", strconv.Itoa(int(end.Code())))
	block = appendHPACKField(block, "grpc-message", encodeStatusMessage(end.Message()))
	b = appendFrame(b, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, stream, len(block))
	return append(b, block...)
}

// maxStatusMessage is the maximum length of a sent status message, in bytes: the headers must fit in one frame.
const maxStatusMessage = 4 << 10

// encodeStatusMessage percent-encodes a status message as gRPC requires: every byte except printable ASCII, and the
// percent sign.
func encodeStatusMessage(text string) string {
	const hex = "0123456789ABCDEF"
	text = truncate.Text(text, maxStatusMessage)
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
