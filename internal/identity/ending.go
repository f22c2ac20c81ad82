package identity

import (
	"net"
	"sync"
	"time"
)

// EndWithCertificate wraps the listener of a server that demands client
// certificates by Serving.MutualTLS: a connection is closed when the first
// certificate of its client's chain expires. Clients come back with a fresh
// one. Ending streams is not enough for that: a client opens the next one on the
// connection that it has, under the identity that it had.
func EndWithCertificate(l net.Listener) net.Listener { return endingListener{l} }

type endingListener struct{ net.Listener }

// Accept waits for the next connection.
func (l endingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &endingConn{Conn: conn}, nil
}

// glance is how often the clock is compared with the end of a certificate: timers do not notice when the clock is set.
const glance = time.Minute

type endingConn struct {
	net.Conn

	mu     sync.Mutex
	timer  *time.Timer
	closed bool
}

// endingAddr leads to the connection that it is the address of, whatever a
// server has wrapped around that.
type endingAddr struct {
	net.Addr
	conn *endingConn
}

// RemoteAddr is the client's address.
func (c *endingConn) RemoteAddr() net.Addr { return endingAddr{c.Conn.RemoteAddr(), c} }

// NetConn is the connection that ends.
func (c *endingConn) NetConn() net.Conn { return c.Conn }

func endingConnOf(conn net.Conn) (*endingConn, bool) {
	addr, ok := conn.RemoteAddr().(endingAddr)
	return addr.conn, ok
}

// endAt closes the connection at a time; the zero time is never.
func (c *endingConn) endAt(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.IsZero() || c.closed {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		_ = c.Conn.Close() // it is lost either way
		return
	}
	c.timer = time.AfterFunc(min(left, glance), func() { c.endAt(t) })
}

// Close closes the connection.
func (c *endingConn) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
