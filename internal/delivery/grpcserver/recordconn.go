package grpcserver

import "net"

// recordConn reads no further than the end of a TLS record that is large. Without it, what was read of the next one
// stays in crypto/tls' buffer, which doubles to hold another large one behind it, and never shrinks.
type recordConn struct {
	net.Conn
	header [5]byte // of the record that begins
	have   int     // of the header
	left   int     // of the record's body
}

// peek is how much is read where a record may begin, in bytes. Most requests are smaller, so that one read is enough.
const peek = 1 << 10

// Read implements net.Conn.
func (c *recordConn) Read(p []byte) (int, error) {
	limit := peek
	if c.left > 0 {
		limit = c.left
	}
	n, err := c.Conn.Read(p[:min(len(p), limit)])
	c.follow(p[:n])
	return n, err
}

// follow keeps track of where records end.
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
