package grpcserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
	"anymesh.dev/anymesh/test/h2spec"
)

// h2specExceptions lists the cases that are not run, with the reason.
var h2specExceptions = map[string]string{
	"http2/3.5/2": "the server closes the connection while a part of the invalid preface is unread; the client's system " +
		"reports a reset, which the case does not accept. TestInvalidPrefaceIsRefused covers the rule",
}

// h2specGRPC lists the cases that need a response with DATA. h2spec sends GET; these requests are changed to gRPC.
var h2specGRPC = map[string]bool{
	"generic/2/2": true, "generic/2/3": true, "http2/5.1.2/1": true, "http2/6.5.3/1": true, "http2/6.9.1/1": true,
	"http2/6.9.2/1": true, "http2/6.9.2/2": true,
}

// TestH2spec runs the cases of h2spec, the conformance tests of HTTP/2.
func TestH2spec(t *testing.T) {
	methods := map[string]func(*Stream) StreamHandler{"/": func(s *Stream) StreamHandler {
		return handlerFuncs{onMessage: func([]byte) {}, onEnd: func(err error) {
			go func() { s.Finish(errors.Join(err, s.Send(make([]byte, 100)))) }()
		}}
	}}
	o := Options{Methods: methods, MaxConcurrentStreams: 100}
	plain := startServer(t, listenLoopback(t), o)
	grpc := startServer(t, grpcRequestListener{listenLoopback(t)}, o)
	h2spec.Run(t, func(id string) (address, skip string) {
		if h2specGRPC[id] {
			return grpc.address, ""
		}
		return plain.address, h2specExceptions[id]
	})
}

// grpcRequestListener changes GET requests to gRPC requests.
type grpcRequestListener struct{ net.Listener }

func (l grpcRequestListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &grpcRequestConn{Conn: c, in: bufio.NewReader(c)}, nil
}

type grpcRequestConn struct {
	net.Conn
	in      *bufio.Reader
	out     bytes.Buffer
	started bool // the preface is read
}

func (c *grpcRequestConn) Read(p []byte) (int, error) {
	if c.out.Len() == 0 {
		frame := make([]byte, len(http2.ClientPreface))
		if c.started {
			frame = frame[:h2frame.HeaderLen]
		}
		if _, err := io.ReadFull(c.in, frame); err != nil {
			return 0, err
		}
		if c.started {
			payload := make([]byte, int(frame[0])<<16|int(frame[1])<<8|int(frame[2]))
			if _, err := io.ReadFull(c.in, payload); err != nil {
				return 0, err
			}
			const get, post = 0x82, 0x83 // of the static table of HPACK
			if http2.FrameType(frame[h2frame.TypeOffset]) == http2.FrameHeaders && len(payload) > 0 && payload[0] == get {
				payload[0] = post
				payload = h2frame.AppendField(payload, "content-type", "application/grpc")
				frame[1], frame[2] = byte(len(payload)>>8), byte(len(payload))
			}
			frame = append(frame, payload...)
		}
		c.started = true
		_, _ = c.out.Write(frame)
	}
	return c.out.Read(p)
}
