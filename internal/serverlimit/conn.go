package serverlimit

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// minLinger is less than the time for which net/http keeps a connection open after it refused a header, without reading
// it, so that the client receives the reply: 500 ms for HTTP/1, 1 s for HTTP/2. It closes other connections at once:
// those that the client closed, and those with a malformed request.
const minLinger = 450 * time.Millisecond

// conn observes a connection below TLS.
type conn struct {
	net.Conn
	observer *observer

	mu sync.Mutex
	// deadline is how long the next Read may take when its deadline is set; zero means that there is none.
	deadline time.Duration
	reading  bool
	readAt   time.Time // of the last Read's end
	readErr  error     // of the last Read since the connection was idle
	// bytes are those that were read since the connection was idle, the last handler began, or the TLS handshake ended.
	bytes int
	// begun is whether the client sent a byte of HTTP.
	begun bool
	// prefaced is whether the connection was idle before. For HTTP/2, it is idle after the preface.
	prefaced bool
	// entered is whether a handler began since the connection was idle.
	entered bool
	// unread is whether a Write failed because the client did not read in time.
	unread bool
}

type listener struct {
	net.Listener
	observer *observer
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, observer: l.observer}, nil
}

// observed returns the observed connection of a connection of the server, or nil.
func observed(c net.Conn) *conn {
	if outer, is := c.(*tls.Conn); is {
		c = outer.NetConn()
	}
	o, _ := c.(*conn)
	return o
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	c.reading = true
	c.mu.Unlock()
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading, c.readAt, c.readErr = false, time.Now(), err
	c.bytes += n
	return n, err
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	if c.deadline = 0; !t.IsZero() {
		c.deadline = max(time.Until(t), 1)
	}
	if !c.begun {
		c.bytes = 0 // net/http sets deadlines before and after the handshake
	}
	c.mu.Unlock()
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) enterHandler() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entered, c.bytes = true, 0
}

func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
}

// endHTTP1 is called after a request of HTTP/1.
func (c *conn) endHTTP1() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entered, c.bytes, c.readErr = false, 0, nil
}

// endHTTP2 is called after the preface of HTTP/2, and when the last stream ended. It reports whether the streams since
// the last call had a long header, but none reached the handler. A client that resets its stream at once may prevent
// that, too, but sends less.
func (c *conn) endHTTP2(long int) (ignored bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.prefaced {
		c.prefaced = true
		return false // what came together with the preface belongs to the first stream
	}
	ignored = !c.entered && c.bytes >= long
	if ignored || c.reading { // else the server closes the connection, which ends the streams first
		c.bytes = 0
	}
	c.entered = false
	return ignored
}

// timedOut reports whether the client did not send or read in time.
func (c *conn) timedOut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unread || errors.Is(c.readErr, os.ErrDeadlineExceeded)
}

// closed returns the limit for which the server closed the connection, if any.
func (c *conn) closed(isHTTP2 bool, long int, timeout time.Duration) Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.unread:
		return Unread
	case !c.begun, c.entered && !isHTTP2, c.reading:
		return ""
	case errors.Is(c.readErr, os.ErrDeadlineExceeded):
		// Between requests, the deadline is longer until the next one begins.
		if !isHTTP2 && c.deadline > 0 && c.deadline <= timeout {
			return Slow
		}
	case c.readErr != nil || time.Since(c.readAt) < minLinger:
	case c.bytes >= long:
		return Long
	case isHTTP2:
		return Frame
	}
	return ""
}
