package grpcserver

import (
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"anymesh.dev/anymesh/internal/h2frame"
)

// violation is a protocol violation of a client, and the reaction of the server.
type violation struct {
	name string // the violation
	rule string // the violated rule, or the CVE
	do   func(p *rawClient)
	want []string // events that the client receives; other streams continue unless the last is "closed"
}

func repeat(n int, do func()) {
	for range n {
		do()
	}
}

func raw(p *rawClient, kind http2.FrameType, flags http2.Flags, id uint32, payload string) {
	_ = p.WriteRawFrame(kind, flags, id, []byte(payload))
}

func goAway(last string, code http2.ErrCode) []string {
	return []string{"GOAWAY " + last + " " + code.String(), "closed"}
}

var framing = []violation{
	{"frame of more than 16 KiB", "RFC 9113, 4.2", func(p *rawClient) { raw(p, http2.FrameData, 0, 1, strings.Repeat("x", h2frame.FrameSize+1)) },
		goAway("0", http2.ErrCodeFrameSize)},
	{"HEADERS of more than 16 KiB", "RFC 9113, 4.2", func(p *rawClient) { raw(p, http2.FrameHeaders, 4, 1, strings.Repeat("x", h2frame.FrameSize+1)) },
		goAway("0", http2.ErrCodeFrameSize)},
	{"SETTINGS with a length that is not a multiple of 6", "RFC 9113, 6.5", func(p *rawClient) { raw(p, http2.FrameSettings, 0, 0, "1234567") },
		goAway("0", http2.ErrCodeFrameSize)},
	{"SETTINGS of a stream", "RFC 9113, 6.5", func(p *rawClient) { raw(p, http2.FrameSettings, 0, 1, "") }, goAway("0", http2.ErrCodeProtocol)},
	{"PING with a length that is not 8", "RFC 9113, 6.7", func(p *rawClient) { raw(p, http2.FramePing, 0, 0, "1234567") }, goAway("0", http2.ErrCodeFrameSize)},
	{"PUSH_PROMISE", "RFC 9113, 8.4", func(p *rawClient) { raw(p, http2.FramePushPromise, 4, 1, "\x00\x00\x00\x02") }, goAway("0", http2.ErrCodeProtocol)},
	{"frames of unknown types", "RFC 9113, 4.1: ignored", func(p *rawClient) { raw(p, 99, 255, 7, "payload"); raw(p, 200, 0, 0, "") }, nil},
	{"GOAWAY", "RFC 9113, 6.8: open streams continue", func(p *rawClient) { _ = p.WriteGoAway(0, http2.ErrCodeNo, nil) }, nil},
	{"PRIORITY", "RFC 9113, 5.3.2: deprecated", func(p *rawClient) { _ = p.WritePriority(1, http2.PriorityParam{StreamDep: 3}) }, nil},
}

var streamStates = []violation{
	{"DATA of stream 0", "RFC 9113, 6.1", func(p *rawClient) { raw(p, http2.FrameData, 0, 0, "x") }, goAway("0", http2.ErrCodeProtocol)},
	{"DATA of an idle stream", "RFC 9113, 5.1", func(p *rawClient) { raw(p, http2.FrameData, 0, 1, "x") }, goAway("0", http2.ErrCodeProtocol)},
	{"RST_STREAM of an idle stream", "RFC 9113, 6.4", func(p *rawClient) { _ = p.WriteRSTStream(5, http2.ErrCodeCancel) }, goAway("0", http2.ErrCodeProtocol)},
	{"WINDOW_UPDATE of an idle stream", "RFC 9113, 5.1", func(p *rawClient) { _ = p.WriteWindowUpdate(5, 1) }, goAway("0", http2.ErrCodeProtocol)},
	{"HEADERS of stream 0", "RFC 9113, 6.2", func(p *rawClient) { p.open(0, sinkMethod) }, goAway("0", http2.ErrCodeProtocol)},
	{"even stream ID", "RFC 9113, 5.1.1", func(p *rawClient) { p.open(2, sinkMethod) }, goAway("0", http2.ErrCodeProtocol)},
	{"stream ID lower than the last", "RFC 9113, 5.1.1", func(p *rawClient) { p.open(5, muteMethod); p.open(3, sinkMethod) },
		goAway("5", http2.ErrCodeProtocol)},
	{"HEADERS after the stream has ended", "RFC 9113, 5.1", func(p *rawClient) { p.open(1, "/no/method"); p.send(1, 1, true); p.trailers(1, true) },
		append([]string{"HEADERS 1 status=200 grpc-status=12", "RST 1 NO_ERROR"}, goAway("1", http2.ErrCodeStreamClosed)...)},
	{"DATA after RST_STREAM", "RFC 9113, 5.1", func(p *rawClient) {
		p.open(1, muteMethod)
		_ = p.WriteRSTStream(1, http2.ErrCodeCancel)
		p.send(1, 1, false)
	}, []string{"RST 1 STREAM_CLOSED"}},
	{"trailers of a stream that the server has ended", "RFC 9113, 5.1: sent before RST_STREAM arrived",
		func(p *rawClient) { p.open(1, "/no/method"); p.trailers(1, true) }, []string{"HEADERS 1 status=200 grpc-status=12", "RST 1 NO_ERROR"}},
	{"DATA after END_STREAM", "RFC 9113, 5.1", func(p *rawClient) { p.open(1, muteMethod); p.send(1, 1, true); p.send(1, 1, false) },
		[]string{"RST 1 STREAM_CLOSED"}},
	{"HEADERS after END_STREAM", "RFC 9113, 5.1", func(p *rawClient) { p.open(1, muteMethod); p.send(1, 1, true); p.trailers(1, true) },
		[]string{"RST 1 STREAM_CLOSED"}},
	{"trailers", "RFC 9113, 8.1: end of the request", func(p *rawClient) { p.open(1, sinkMethod); p.send(1, 1, false); p.trailers(1, true) },
		[]string{"HEADERS 1 status=200 grpc-status=0"}},
	{"trailers that do not end the stream", "RFC 9113, 8.1", func(p *rawClient) { p.open(1, muteMethod); p.trailers(1, false) }, []string{"RST 1 PROTOCOL_ERROR"}},
	{"DATA of a stream that the server has ended", "RFC 9113, 5.1: sent before RST_STREAM arrived", func(p *rawClient) { p.open(1, "/no/method"); p.send(1, 1, false); p.send(1, 1, true) },
		[]string{"HEADERS 1 status=200 grpc-status=12", "RST 1 NO_ERROR"}},
	{"RST_STREAM twice", "RFC 9113, 5.1: sent before RST_STREAM arrived", func(p *rawClient) {
		p.open(1, muteMethod)
		repeat(2, func() { _ = p.WriteRSTStream(1, http2.ErrCodeCancel) })
	}, nil},
}

var headerBlocks = []violation{
	{"HEADERS with CONTINUATION interrupted by PING", "RFC 9113, 6.10", func(p *rawClient) {
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.headerBlock(sinkMethod)})
		_ = p.WritePing(false, [8]byte{})
	}, goAway("0", http2.ErrCodeProtocol)},
	{"CONTINUATION without HEADERS", "RFC 9113, 6.10", func(p *rawClient) { _ = p.WriteContinuation(1, true, nil) }, goAway("0", http2.ErrCodeProtocol)},
	{"HEADERS split into CONTINUATIONs", "RFC 9113, 4.3: allowed", func(p *rawClient) {
		all := p.headerBlock(sinkMethod)
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: all[:1], EndStream: true})
		for i := range all[1:] {
			_ = p.WriteContinuation(1, i == len(all)-2, all[i+1:i+2])
		}
	}, []string{"HEADERS 1 status=200 grpc-status=0"}},
	{"endless CONTINUATIONs", "CVE-2024-27316", func(p *rawClient) {
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.headerBlock(sinkMethod)})
		p.headers.Reset()
		_ = p.encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 100), Sensitive: true})
		repeatUntilError(p, func() error { return p.WriteContinuation(1, false, p.headers.Bytes()) })
	}, goAway("0", http2.ErrCodeProtocol)},
	{"header list too large", "RFC 9113, 10.5.1", func(p *rawClient) {
		p.open(1, sinkMethod, hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 8<<10)},
			hpack.HeaderField{Name: "z", Value: strings.Repeat("y", 8<<10)})
	}, []string{"HEADERS 1 status=200 grpc-status=8", "RST 1 NO_ERROR"}},
	{"invalid HPACK", "RFC 9113, 4.3", func(p *rawClient) {
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff},
			EndHeaders: true})
	}, goAway("0", http2.ErrCodeCompression)},
	{"uppercase header name", "RFC 9113, 8.2.1", func(p *rawClient) { p.open(1, sinkMethod, hpack.HeaderField{Name: "X", Value: "y"}) }, []string{"RST 1 PROTOCOL_ERROR"}},
	{"uppercase header name followed by a message", "RFC 9113, 5.4.2: sent before RST_STREAM arrived", func(p *rawClient) {
		p.open(1, sinkMethod, hpack.HeaderField{Name: "X", Value: "y"})
		p.send(1, 1, true)
	}, []string{"RST 1 PROTOCOL_ERROR"}},
	{"pseudo-header after other headers", "RFC 9113, 8.3", func(p *rawClient) { p.open(1, sinkMethod, hpack.HeaderField{Name: ":path", Value: "/"}) }, []string{"RST 1 PROTOCOL_ERROR"}},
	{"no gRPC content-type", "gRPC over HTTP2", func(p *rawClient) { p.open(1, sinkMethod, hpack.HeaderField{Name: "content-type", Value: "text/html"}) },
		[]string{"HEADERS 1 status=415 grpc-status=3"}},
	{"no gRPC content-type, and data", "the data is ignored, up to the window", func(p *rawClient) {
		p.open(1, sinkMethod, hpack.HeaderField{Name: "content-type", Value: "application/json"})
		repeat(3, func() { _ = p.WriteData(1, false, make([]byte, h2frame.FrameSize)) })
		_ = p.WriteData(1, true, nil)
	}, []string{"HEADERS 1 status=415 grpc-status=3", "WINDOW 0 +32768"}},
	{"connection header", "RFC 9113, 8.2.2", func(p *rawClient) { p.open(1, sinkMethod, hpack.HeaderField{Name: "connection", Value: "close"}) }, []string{"RST 1 PROTOCOL_ERROR"}},
	{"content-length that is not a number", "RFC 9113, 8.1.1", func(p *rawClient) { p.open(1, sinkMethod, hpack.HeaderField{Name: "content-length", Value: "-1"}) }, []string{"RST 1 PROTOCOL_ERROR"}},
	{"content-length below the length of the message", "RFC 9113, 8.1.1", func(p *rawClient) {
		p.open(1, sinkMethod, hpack.HeaderField{Name: "content-length", Value: "5"})
		p.send(1, 1, true)
	}, []string{"RST 1 PROTOCOL_ERROR"}},
	{"content-length above the length of the message", "RFC 9113, 8.1.1", func(p *rawClient) {
		p.open(1, muteMethod, hpack.HeaderField{Name: "content-length", Value: "7"})
		p.send(1, 1, true)
	}, []string{"RST 1 PROTOCOL_ERROR"}},
	{"content-length of the message", "RFC 9113, 8.1.1: allowed", func(p *rawClient) {
		p.open(1, sinkMethod, hpack.HeaderField{Name: "content-length", Value: "6"})
		p.send(1, 1, true)
	}, []string{"HEADERS 1 status=200 grpc-status=0"}},
}
