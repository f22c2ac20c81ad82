package h2

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
)

// Preface is what clients send first.
const Preface = http2.ClientPreface

// Protocols are offered in handshakes of TLS (ALPN).
var Protocols = []string{"h2", "http/1.1"}

// Chosen reports whether a connection has chosen HTTP/2 in the handshake of TLS.
func Chosen(nc net.Conn) bool {
	t, is := nc.(*tls.Conn)
	return is && t.ConnectionState().NegotiatedProtocol == "h2"
}

// Begins reports whether the input of a connection without TLS is the preface, as far as a parser of HTTP/1 reads it.
func Begins(input []byte) bool {
	const line = len("PRI * HTTP/2.0\r\n\r\n")
	return len(input) >= line && string(input[:line]) == Preface[:line]
}

// Server serves connections of clients.
type Server struct {
	Limits Limits

	mu       sync.Mutex
	conns    map[*conn]struct{}
	draining bool
	retiring bool
}

// Serve serves a connection until its end: each stream in a goroutine of its own. First is what was read before.
func (s *Server) Serve(nc net.Conn, first []byte, serve func(*Stream)) {
	c := newConn(nc, false, s.Limits)
	c.serve = serve
	c.start(first)
	s.mu.Lock()
	if s.conns == nil {
		s.conns = map[*conn]struct{}{}
	}
	s.conns[c] = struct{}{}
	draining, retiring := s.draining, s.retiring
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	c.mu.Lock()
	c.out = h2frame.AppendSettings(c.out,
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(s.Limits.Streams)},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: uint32(s.Limits.Head)},
		http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
	c.out = h2frame.AppendWindowUpdate(c.out, 0, serverWindow-h2frame.InitialWindow)
	c.flush()
	c.mu.Unlock()
	c.observe()
	switch {
	case draining:
		c.drain()
	case retiring:
		c.retire()
	}
	preface := make([]byte, len(Preface))
	_ = nc.SetReadDeadline(time.Now().Add(s.Limits.Frame)) // it fails if the connection is closed
	for n := 0; n < len(preface); {
		more, err := c.in.Read(preface[n:])
		if err != nil {
			c.abort()
			break
		}
		if n += more; string(preface[:n]) != Preface[:n] {
			c.mu.Lock()
			c.out = h2frame.AppendGoAway(c.out, 0, http2.ErrCodeProtocol)
			c.flush()
			c.mu.Unlock()
			c.linger()
			c.abort()
			break
		}
	}
	_ = nc.SetReadDeadline(time.Time{}) // as above
	c.read()
}

// Drain ends connections when their streams have ended.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for c := range s.conns {
		go c.drain()
	}
}

// Retire asks clients to use other connections. Those that are there, and new ones, serve what clients still send.
func (s *Server) Retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retiring = true
	for c := range s.conns {
		go c.retire()
	}
}

// Close ends all connections.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.abort()
	}
}

// Connections returns the number of open connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// retire sends a GOAWAY that excludes no stream: RFC 9113, 6.8.
func (c *conn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = h2frame.AppendGoAway(c.out, 1<<31-1, http2.ErrCodeNo)
	c.flush()
}

func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = true
	c.out = h2frame.AppendGoAway(c.out, c.last, http2.ErrCodeNo)
	c.flush()
	if c.running == 0 && len(c.streams) == 0 {
		c.abort()
	}
}
