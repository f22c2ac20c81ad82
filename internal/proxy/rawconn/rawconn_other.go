//go:build !linux

package rawconn

import (
	"net"
	"sync"
)

// Conn is a connection.
type Conn struct{ net.Conn }

// New returns false: only Linux has cheaper reads and writes.
func New(net.Conn) (*Conn, bool) { return nil, false }

// ReadPooled reads into a buffer of the pool.
func (c *Conn) ReadPooled(pool *sync.Pool) (*[]byte, int, error) {
	buffer := pool.Get().(*[]byte)
	n, err := c.Read(*buffer)
	if err != nil {
		pool.Put(buffer)
		return nil, 0, err
	}
	return buffer, n, nil
}

// Alive reports whether an idle connection may be used.
func (c *Conn) Alive() bool { return true }

// Ended reports false: it is not known.
func (c *Conn) Ended() bool { return false }
