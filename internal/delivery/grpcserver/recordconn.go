package grpcserver

import (
	"fmt"
	"net"
)

// recordConn does not read beyond the end of a large TLS record. Otherwise the start of the next record stays in the
// buffer of crypto/tls, which grows to hold another large record and never shrinks.
type recordConn struct {
	net.Conn
	header [5]byte // header of the current record
	have   int     // received bytes of the header
	left   int     // remaining bytes of the body
	limit  int     // most bytes of all reads during the handshake; 0 means no limit
	total  int     // bytes of reads during the handshake
}

// errHandshakeSize closes a connection whose handshake is too long.
var errHandshakeSize = fmt.Errorf("the client sends more than %d bytes before the end of the handshake",
	MaxHandshakeSize)

// peek is the number of bytes to read where a record may begin. Most requests are smaller, so that one read suffices.
const peek = 1 << 10

// Read implements net.Conn.
func (c *recordConn) Read(p []byte) (int, error) {
	most := peek
	if c.left > 0 {
		most = c.left
	}
	n, err := c.Conn.Read(p[:min(len(p), most)])
	c.follow(p[:n])
	if c.limit > 0 {
		if c.total += n; c.total > c.limit {
			return 0, errHandshakeSize
		}
	}
	return n, err
}

// follow tracks the ends of records.
func (c *recordConn) follow(read []byte) {
	for len(read) > 0 {
		if c.left > 0 {
			n := min(c.left, len(read))
			c.left -= n
			read = read[n:]
			continue
		}
		n := copy(c.header[c.have:], read)
		read = read[n:]
		if c.have += n; c.have == len(c.header) {
			c.have, c.left = 0, int(c.header[3])<<8|int(c.header[4])
		}
	}
}
