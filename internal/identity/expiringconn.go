package identity

import (
	"net"
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/timerslack"
)

// CloseOnCertificateExpiry wraps the listener of a server that uses ServingCertificate.MutualTLSConfig. A connection
// is closed when a certificate of its client's verified chain expires. The client reconnects with a new certificate.
// Ending its streams is not sufficient: it could open new ones on the same connection with the expired identity.
func CloseOnCertificateExpiry(l net.Listener) net.Listener { return expiringListener{l} }

type expiringListener struct{ net.Listener }

// Accept implements net.Listener.
func (l expiringListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &expiringConn{Conn: conn}, nil
}

// expiryCheckInterval is the maximum interval of expiry checks: timers do not fire when the system clock is set.
const expiryCheckInterval = time.Minute

type expiringConn struct {
	net.Conn

	mu     sync.Mutex
	timer  *time.Timer
	closed bool
}

// expiringAddr is a remote address that refers to its connection, so that the connection is found behind any wrapper
// of a server.
type expiringAddr struct {
	net.Addr
	conn *expiringConn
}

// RemoteAddr implements net.Conn.
func (c *expiringConn) RemoteAddr() net.Addr { return expiringAddr{c.Conn.RemoteAddr(), c} }

// NetConn returns the wrapped connection.
func (c *expiringConn) NetConn() net.Conn { return c.Conn }

func expiringConnOf(conn net.Conn) (*expiringConn, bool) {
	addr, ok := conn.RemoteAddr().(expiringAddr)
	return addr.conn, ok
}

// closeAt closes the connection at a time. The zero time means never.
func (c *expiringConn) closeAt(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.IsZero() || c.closed {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		_ = c.Conn.Close() // the connection is unusable in any case
		return
	}
	c.timer = time.AfterFunc(min(left, timerslack.Extend(expiryCheckInterval)), func() { c.closeAt(t) })
}

// Close implements net.Conn.
func (c *expiringConn) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
