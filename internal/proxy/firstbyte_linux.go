package proxy

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// firstByte returns the first byte that a client sends, and leaves it in the connection. It returns false at the
// deadline of reads, and at the end.
func firstByte(nc net.Conn) (byte, bool) {
	tcp, is := nc.(*net.TCPConn)
	if !is {
		return 0, false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, false
	}
	var first [1]byte
	n := 0
	err = raw.Read(func(fd uintptr) bool {
		var failed error
		n, _, failed = unix.Recvfrom(int(fd), first[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return !errors.Is(failed, unix.EAGAIN) && !errors.Is(failed, unix.EINTR)
	})
	return first[0], err == nil && n == 1
}
