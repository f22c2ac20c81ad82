package grpcserver

import (
	"fmt"
	"net"
)

// handshakeConn limits what a client sends before the end of the handshake.
type handshakeConn struct {
	net.Conn
	limit int // most bytes of all reads; 0 means no limit
	total int // bytes of reads while there is a limit
}

// errHandshakeSize closes a connection whose handshake is too long.
var errHandshakeSize = fmt.Errorf("the client sends more than %d bytes before the end of the handshake",
	MaxHandshakeSize)

// Read implements net.Conn.
func (c *handshakeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.limit > 0 {
		if c.total += n; c.total > c.limit {
			return 0, errHandshakeSize
		}
	}
	return n, err
}
