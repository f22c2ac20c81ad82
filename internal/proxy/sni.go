package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// sniTimeout is how long a client may take to send the first message of a handshake of TLS.
const sniTimeout = time.Second

// errSeen ends a handshake after its first message.
var errSeen = errors.New("the server name is known")

// serverName reads the first message of a handshake of TLS. It returns the server name that the client asks for, empty
// if there is none, and a connection from which everything is read again.
func serverName(nc net.Conn) (string, net.Conn) {
	seen := &peekConn{Conn: nc}
	name := ""
	_ = nc.SetReadDeadline(time.Now().Add(sniTimeout)) // it fails if the connection is closed
	// The handshake always ends with an error.
	_ = tls.Server(seen, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		name = h.ServerName
		return nil, errSeen
	}}).Handshake()
	_ = nc.SetReadDeadline(time.Time{}) // as above
	return name, &replayConn{nc, io.MultiReader(&seen.read, nc)}
}

// peekConn keeps what is read, and writes nothing.
type peekConn struct {
	net.Conn
	read bytes.Buffer
}

// Read implements net.Conn.
func (c *peekConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Write(p[:n])
	return n, err
}

// Write implements net.Conn.
func (c *peekConn) Write(p []byte) (int, error) { return len(p), nil }

// Close implements net.Conn.
func (c *peekConn) Close() error { return nil }

// replayConn is a connection of which a part was read.
type replayConn struct {
	net.Conn
	in io.Reader
}

// Read implements net.Conn.
func (c *replayConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// CloseWrite ends what is sent.
func (c *replayConn) CloseWrite() error {
	if half, is := c.Conn.(interface{ CloseWrite() error }); is {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
