package grpcserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	h2spec "github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
	"golang.org/x/net/http2"
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
	plain := h2specConfig(t, startServer(t, listenLoopback(t), o))
	grpc := h2specConfig(t, startServer(t, grpcRequestListener{listenLoopback(t)}, o))
	cases := 0
	t.Run("cases", func(t *testing.T) {
		for _, g := range []*spec.TestGroup{generic.Spec(), h2spec.Spec(), hpack.Spec()} {
			cases += runH2spec(t, g, plain, grpc)
		}
	})
	if cases < 146 {
		t.Errorf("%d cases were run, want all 146", cases)
	}
}

func h2specConfig(t *testing.T, r *testServer) *config.Config {
	// The timeout is only reached by a case that fails.
	c := &config.Config{Path: "/", Timeout: 20 * time.Second, MaxHeaderLen: 4000, Strict: true}
	address, err := net.ResolveTCPAddr("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	c.Host, c.Port = address.IP.String(), address.Port
	return c
}

// runH2spec runs the cases of a group and returns their number.
func runH2spec(t *testing.T, g *spec.TestGroup, plain, grpc *config.Config) int {
	cases := slices.Concat(g.Tests, g.StrictTests)
	count := len(cases)
	for i, one := range cases {
		id := fmt.Sprintf("%s/%d", g.ID(), i+1)
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if reason := h2specExceptions[id]; reason != "" {
				t.Skip(reason)
			}
			c := plain
			if h2specGRPC[id] {
				c = grpc
			}
			conn, err := spec.Dial(c)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := one.Run(c, conn); err != nil {
				t.Errorf("%s: %s, got: %v", one.Desc, one.Requirement, err)
			}
		})
	}
	for _, sub := range g.Groups {
		count += runH2spec(t, sub, plain, grpc)
	}
	return count
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
			frame = frame[:frameHeaderLen]
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
			if http2.FrameType(frame[typeOffset]) == http2.FrameHeaders && len(payload) > 0 && payload[0] == get {
				payload[0] = post
				payload = appendHPACKField(payload, "content-type", "application/grpc")
				frame[1], frame[2] = byte(len(payload)>>8), byte(len(payload))
			}
			frame = append(frame, payload...)
		}
		c.started = true
		_, _ = c.out.Write(frame)
	}
	return c.out.Read(p)
}
