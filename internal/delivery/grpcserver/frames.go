package grpcserver

import (
	"strconv"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/h2frame"
	"anymesh.dev/anymesh/internal/truncate"
)

// Sizes of messages and heads, in bytes. Frames have at most h2frame.FrameSize bytes.
const (
	// messagePrefixLen is the length of a gRPC message prefix: compressed flag and 4 bytes length.
	messagePrefixLen = 5
	// streamWindowSize is the window of a stream for data that the server receives. Clients that have not received the
	// server's SETTINGS yet may use h2frame.InitialWindow.
	streamWindowSize = 16 << 10
	// MaxHeaderListSize limits the headers of a request.
	MaxHeaderListSize = 16 << 10
)

// nextFrame returns the first frame of b, with its CONTINUATION frames. If the input is incomplete, it returns nil, and
// the length up to which more is known.
func nextFrame(b []byte) (frame []byte, need int, err error) {
	for n := 0; ; {
		if len(b) < n+h2frame.HeaderLen {
			return nil, n + h2frame.HeaderLen, nil
		}
		size := int(b[n])<<16 | int(b[n+1])<<8 | int(b[n+2])
		if size > h2frame.FrameSize {
			return nil, 0, http2.ConnectionError(http2.ErrCodeFrameSize)
		}
		if n > 2*MaxHeaderListSize {
			return nil, 0, http2.ConnectionError(http2.ErrCodeProtocol) // endless CONTINUATION frames
		}
		kind, flags := http2.FrameType(b[n+h2frame.TypeOffset]), http2.Flags(b[n+h2frame.FlagsOffset])
		opens := kind == http2.FrameHeaders || kind == http2.FrameContinuation && n > 0
		if n += h2frame.HeaderLen + size; len(b) < n {
			return nil, n, nil
		}
		if !opens || flags.Has(http2.FlagHeadersEndHeaders) {
			return b[:n], n, nil // the framer reports other frames within a header block
		}
	}
}

// hpackStatus200 is the index of ":status: 200" in the static table of HPACK (RFC 7541, appendix A).
const hpackStatus200 = 0x88

// lastHeaders are the flags of HEADERS that end a stream.
const lastHeaders = http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream

// responseHeaders is the encoded header block of every response.
var responseHeaders = h2frame.AppendField([]byte{hpackStatus200}, "content-type", "application/grpc")

func appendResponseHeaders(b []byte, stream uint32) []byte {
	b = h2frame.AppendHeader(b, http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, len(responseHeaders))
	return append(b, responseHeaders...)
}

// appendTrailers appends the trailers of a response. headers adds the response headers, if none were sent
// (Trailers-Only).
func appendTrailers(b []byte, stream uint32, end *status.Status, headers bool) []byte {
	var block []byte
	if headers {
		block = append(block, responseHeaders...)
	}
	block = h2frame.AppendField(block, "grpc-status", strconv.Itoa(int(end.Code())))
	if text := end.Message(); text != "" {
		block = h2frame.AppendField(block, "grpc-message", encodeStatusMessage(text))
	}
	b = h2frame.AppendHeader(b, http2.FrameHeaders, lastHeaders, stream, len(block))
	return append(b, block...)
}

// appendHTTPError appends the response to a request that is not gRPC, with the status of both protocols.
func appendHTTPError(b []byte, stream uint32, httpStatus int, end *status.Status) []byte {
	block := h2frame.AppendField(nil, ":status", strconv.Itoa(httpStatus))
	block = h2frame.AppendField(block, "content-type", "application/grpc")
	block = h2frame.AppendField(block, "grpc-status", strconv.Itoa(int(end.Code())))
	block = h2frame.AppendField(block, "grpc-message", encodeStatusMessage(end.Message()))
	b = h2frame.AppendHeader(b, http2.FrameHeaders, lastHeaders, stream, len(block))
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
