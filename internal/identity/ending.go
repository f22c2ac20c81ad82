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

type endingConn struct {
	net.Conn

	mu     sync.Mutex
	timer  *time.Timer
	closed bool
}

// endAt closes the connection at a time; the zero time is never.
func (c *endingConn) endAt(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.IsZero() || c.closed || c.timer != nil {
		return
	}
	c.timer = time.AfterFunc(time.Until(t), func() { _ = c.Conn.Close() }) // it is lost either way
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
