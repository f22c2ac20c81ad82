package controlplane

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/serverlimit"
	"anymesh.dev/anymesh/test/poll"
)

// limitLab is a server of the control plane with TLS, and limits that a test may change.
type limitLab struct {
	t       *testing.T
	cp      *controlPlane
	server  *http.Server
	listen  func(net.Listener) net.Listener
	address string
}

func newLimitLab(t *testing.T, handler http.Handler) *limitLab {
	t.Helper()
	ca, err := identity.NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := ca.IssueServingCertificate([]string{"anymesh.test"})
	if err != nil {
		t.Fatal(err)
	}
	l := &limitLab{t: t, cp: &controlPlane{
		Config:      Config{Log: slog.New(slog.DiscardHandler)},
		connections: newConnections(fullLimits(), prometheus.NewRegistry()),
	}}
	l.server, l.listen = l.cp.httpServer("signing", handler)
	l.server.TLSConfig = serving.TLSConfig()
	return l
}

func (l *limitLab) start() {
	l.t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	l.address = plain.Addr().String()
	go func() { _ = l.server.ServeTLS(l.listen(plain), "", "") }()
	l.t.Cleanup(func() { _ = l.server.Close() })
}

func (l *limitLab) dial() net.Conn {
	l.t.Helper()
	c, err := net.Dial("tcp", l.address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// dialHTTP2 opens a connection, and a number of streams with GET /.
func (l *limitLab) dialHTTP2(streams int) *http2.Framer {
	l.t.Helper()
	c := tls.Client(l.dial(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		l.t.Fatal(err)
	}
	framer := http2.NewFramer(c, c)
	if err := framer.WriteSettings(); err != nil {
		l.t.Fatal(err)
	}
	for i := range streams {
		err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*i + 1), EndHeaders: true, EndStream: true,
			BlockFragment: []byte{0x82, 0x87, 0x84, 0x41, 1, 'x'}, // GET, https, /, and the authority x
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return framer
}

func (l *limitLab) wantsRefused(reason serverlimit.Reason) {
	l.t.Helper()
	poll.Until(l.t, string(reason), func() bool {
		return testutil.ToFloat64(l.cp.connections.refused.WithLabelValues("signing", string(reason))) == 1
	})
}

// Connections with HTTP/2 have limits.
func TestHTTP2IsLimited(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	l := newLimitLab(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	l.start()
	frame, err := l.dialHTTP2(serverlimit.MaxConcurrentStreams + 1).ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, is := frame.(*http2.SettingsFrame)
	if !is {
		t.Fatalf("the first frame is %v", frame)
	}
	if n, _ := settings.Value(http2.SettingMaxFrameSize); n != serverlimit.MaxReadFrameSize {
		t.Errorf("frames have up to %d bytes", n)
	}
	l.wantsRefused(serverlimit.Streams)
	close(release)
	// The connection is closed at the frame's header: its payload is not awaited.
	tooLong := make([]byte, serverlimit.MaxReadFrameSize+1)
	if err := l.dialHTTP2(0).WriteRawFrame(http2.FrameData, 0, 1, tooLong); err != nil {
		t.Fatal(err)
	}
	l.wantsRefused(serverlimit.Frame)
}

// A client that does not read its response is counted.
func TestSlowClientsAreCounted(t *testing.T) {
	t.Parallel()
	l := newLimitLab(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	if l.server.WriteTimeout != WriteTimeout || l.server.HTTP2.WriteByteTimeout != WriteTimeout {
		t.Errorf("limits of %v and %v", l.server.WriteTimeout, l.server.HTTP2.WriteByteTimeout)
	}
	l.server.WriteTimeout = 500 * time.Millisecond
	l.start()
	l.dialHTTP2(1)
	l.wantsRefused(serverlimit.Unread)
}

// Handshakes that do not end in time are counted.
func TestHandshakesAreLimited(t *testing.T) {
	t.Parallel()
	l := newLimitLab(t, http.NotFoundHandler())
	if least := min(l.server.ReadHeaderTimeout, l.server.ReadTimeout, l.server.WriteTimeout); least != HandshakeTimeout {
		t.Errorf("handshakes are limited to %v", least)
	}
	l.server.ReadHeaderTimeout = 100 * time.Millisecond
	l.start()
	l.dial()
	l.wantsRefused(serverlimit.Handshake)
}
