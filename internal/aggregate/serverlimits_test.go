package aggregate

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/serverlimit"
	"anymesh.dev/anymesh/test/poll"
)

// serveTLS serves the lab as Run does, and returns the address. Before, change may change the server.
func (l *lab) serveTLS(change func(*http.Server)) string {
	l.t.Helper()
	source := httptest.NewUnstartedServer(nil)
	source.StartTLS()
	l.t.Cleanup(source.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	server, listen := l.httpServer(l.t.Context())
	server.TLSConfig.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return &source.TLS.Certificates[0], nil
	}
	if change != nil {
		change(server)
	}
	go func() { _ = server.ServeTLS(listen(listener), "", "") }()
	l.t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

func (l *lab) dial(address string) net.Conn {
	l.t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// dialHTTP2 opens a connection with HTTP/2 with settings.
func (l *lab) dialHTTP2(address string, settings ...http2.Setting) (net.Conn, *http2.Framer) {
	l.t.Helper()
	c := tls.Client(l.dial(address), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		l.t.Fatal(err)
	}
	framer := http2.NewFramer(c, c)
	if err := framer.WriteSettings(settings...); err != nil {
		l.t.Fatal(err)
	}
	return c, framer
}

func (l *lab) pollRefused(reason string) {
	l.t.Helper()
	poll.Until(l.t, reason, func() bool { return testutil.ToFloat64(l.metrics.refused.WithLabelValues(reason)) == 1 })
}

// Connections with HTTP/2 have limits.
func TestHTTP2IsLimited(t *testing.T) {
	l := newLab(t, 1)
	release := make(chan struct{})
	_, framer := l.dialHTTP2(l.serveTLS(func(s *http.Server) {
		s.HTTP2.MaxConcurrentStreams = 1
		s.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
	}))
	defer close(release)
	frame, err := framer.ReadFrame()
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
	for stream := range uint32(2) {
		err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 2*stream + 1, EndHeaders: true, EndStream: true,
			BlockFragment: []byte{0x82, 0x87, 0x84, 0x41, 1, 'x'}, // GET, https, /, and the authority x
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.pollRefused(string(serverlimit.Streams))
}
