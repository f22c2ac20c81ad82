package datagram

import (
	"errors"
	"net"
	"syscall"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// Conn is a connected socket.
type Conn struct{ *net.UDPConn }

// Write implements stream.Stream.
func (c Conn) Write(b []byte) (int, error) {
	return writeMessage(b, func() (int, error) { return c.UDPConn.Write(b) })
}

// CloseWrite implements stream.Stream.
func (Conn) CloseWrite() error { return stream.ErrNoHalfClose }

// Messages implements stream.Stream.
func (Conn) Messages() bool { return true }

// writeMessage sends a packet. A packet that is too long, or for which the system has no memory now, is lost, as
// packets may be; the stream goes on.
func writeMessage(b []byte, write func() (int, error)) (int, error) {
	n, err := write()
	if errors.Is(err, syscall.EMSGSIZE) || errors.Is(err, syscall.ENOBUFS) {
		return len(b), nil
	}
	return n, err
}
