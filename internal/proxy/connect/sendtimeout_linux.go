package connect

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// sendTimeout returns what limits, in milliseconds, how long a connection has data that is not acknowledged, or not
// sent because the window of the peer is closed: TCP_USER_TIMEOUT of tcp(7).
func sendTimeout(limit int) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, limit)
		})
		return errors.Join(failed, err)
	}
}
