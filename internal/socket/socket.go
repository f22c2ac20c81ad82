package socket

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// Direct is the connection with reads and writes that are no more than system calls. One that is not the system's own is returned as it is.
func Direct(c net.Conn) net.Conn {
	under, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := under.SyscallConn()
	if err != nil {
		return c
	}
	return &conn{Conn: c, in: newTransfer(syscall.SYS_READ, raw.Read), out: newTransfer(syscall.SYS_WRITE, raw.Write)}
}

type conn struct {
	net.Conn
	in, out *transfer
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := c.in.move(p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (written int, err error) {
	for written < len(p) && err == nil {
		var n int
		n, err = c.out.move(p[written:])
		written += n
	}
	return written, err
}

// transfer is one direction of a connection.
type transfer struct {
	name  string
	until func(func(fd uintptr) (done bool)) error // waits until the socket is ready again, as long as it is not done
	try   func(fd uintptr) (done bool)

	mu  sync.Mutex // one at a time
	p   []byte
	n   int
	err syscall.Errno
}

func newTransfer(call uintptr, until func(func(uintptr) bool) error) *transfer {
	t := &transfer{name: "write", until: until}
	if call == syscall.SYS_READ {
		t.name = "read"
	}
	t.try = func(fd uintptr) (done bool) {
		for {
			n, _, err := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.p))), uintptr(len(t.p)))
			switch err {
			case syscall.EINTR:
			case syscall.EAGAIN:
				return false
			default:
				t.n, t.err = int(n), err
				return true
			}
		}
	}
	return t
}

// move moves some bytes, and waits until it can.
func (t *transfer) move(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p = p
	err := t.until(t.try)
	t.p = nil // it is not ours to keep
	if err != nil {
		return 0, err
	}
	if t.err != 0 {
		return 0, os.NewSyscallError(t.name, t.err)
	}
	return t.n, nil
}
