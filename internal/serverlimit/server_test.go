package serverlimit

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/poll"
)

const (
	maxHeader     = 32 << 10
	headerTimeout = time.Second
	idleTimeout   = 2 * time.Second
)

// lab is a server with limits, and its counts.
type lab struct {
	t       *testing.T
	name    string
	server  *http.Server
	address string
	config  *tls.Config // of clients; nil without TLS
	release chan struct{}

	mu     sync.Mutex
	counts map[Reason]int
	closed int // connections
	served int // requests that reached the handler
}

// newLab serves "ok" at /, after release at /wait and /slow, reads bodies at /body, and writes without end at /endless. change may
// change the server before.
func newLab(t *testing.T, name, protocol string, change ...func(*http.Server)) *lab {
	t.Helper()
	l := &lab{t: t, name: name + ", " + protocol, counts: map[Reason]int{}, release: make(chan struct{})}
	l.server = &http.Server{
		Handler: http.HandlerFunc(l.serve), MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: log.New(io.Discard, "", 0), HTTP2: HTTP2(time.Minute),
	}
	for _, c := range change {
		c(l.server)
	}
	listen := Observe(l.server, func(r Reason) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.counts[r]++
	})
	changed := l.server.ConnState
	l.server.ConnState = func(c net.Conn, state http.ConnState) {
		changed(c, state)
		if state == http.StateClosed {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.closed++
		}
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.address = plain.Addr().String()
	if protocol == "http" {
		go l.server.Serve(listen(plain))
	} else {
		source := httptest.NewUnstartedServer(nil)
		source.StartTLS()
		t.Cleanup(source.Close)
		l.server.TLSConfig = &tls.Config{Certificates: source.TLS.Certificates}
		l.config = source.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		l.config.ServerName = "example.com"
		l.config.NextProtos = []string{map[string]string{"https": "http/1.1", "h2": "h2"}[protocol]}
		go l.server.ServeTLS(listen(plain), "", "")
	}
	t.Cleanup(func() { l.server.Close() })
	return l
}

func (l *lab) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.served++
	l.mu.Unlock()
	switch r.URL.Path {
	case "/wait":
		http.NewResponseController(w).Flush()
		<-l.release
	case "/slow":
		<-l.release
	case "/body":
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	case "/endless":
		for block := make([]byte, 64<<10); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	io.WriteString(w, "ok")
}

// dialPlain opens a connection without TLS.
func (l *lab) dialPlain() net.Conn {
	l.t.Helper()
	c, err := net.Dial("tcp", l.address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		l.t.Fatal(err)
	}
	return c
}

// dial opens a connection, with TLS if the lab has it.
func (l *lab) dial() net.Conn {
	l.t.Helper()
	c := l.dialPlain()
	if l.config == nil {
		return c
	}
	secure := tls.Client(c, l.config)
	if err := secure.Handshake(); err != nil {
		l.t.Fatal(err)
	}
	return secure
}

// send writes a text. The server may have closed the connection.
func send(c net.Conn, text string) { io.WriteString(c, text) }

// get sends a request, and reads the response.
func (l *lab) get(c net.Conn, path string) {
	l.t.Helper()
	send(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	l.answered(c, http.StatusOK)
}

func (l *lab) answered(c net.Conn, status int) {
	l.t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		l.t.Fatalf("%s: %v", l.name, err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != status {
		l.t.Errorf("%s: status %d, %v, want %d", l.name, response.StatusCode, err, status)
	}
}

// wants waits until the server closed a connection, and compares the counts.
func (l *lab) wants(want map[Reason]int) {
	l.t.Helper()
	poll.Until(l.t, l.name+": the server closes the connection", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.closed > 0
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range []Reason{Handshake, Long, Slow, Unread, Frame, Streams} {
		if l.counts[r] != want[r] {
			l.t.Errorf("%s: %s is counted %d times, want %d", l.name, r, l.counts[r], want[r])
		}
	}
}

// hasCounted waits until a reason is counted.
func (l *lab) hasCounted(r Reason) {
	l.t.Helper()
	poll.Until(l.t, l.name+": "+string(r), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.counts[r] > 0
	})
}

func (l *lab) shutdown() {
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*minLinger)
	defer cancel()
	if l.server.Shutdown(ctx) != nil {
		l.server.Close()
	}
}

func header(length int) string { return "X: " + strings.Repeat("a", length) + "\r\n" }
