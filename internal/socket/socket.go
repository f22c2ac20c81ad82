package socket

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
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
	return &conn{Conn: c, raw: raw, in: newTransfer(syscall.SYS_READ, raw.Read), out: newTransfer(syscall.SYS_WRITE, raw.Write)}
}

type conn struct {
	net.Conn
	raw     syscall.RawConn
	in, out *transfer

	mu     sync.Mutex
	closed bool

	// Of a connection that is watched.
	crew    *Crew
	turn    *Turn
	number  int32
	hungUp  atomic.Bool // there may be an end behind what there is to read, or a deadline
	drained bool        // as the last read showed; of the turn
}

// ErrWait is that there is nothing to read now, on a connection that is watched.
var ErrWait net.Error = wait{}

type wait struct{}

func (wait) Error() string { return "there is nothing to read now" }

// Timeout implements net.Error.
func (wait) Timeout() bool { return true }

// Temporary implements net.Error: crypto/tls goes on behind such an error.
func (wait) Temporary() bool { return true }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.drained {
		c.drained = false // whoever comes again has been woken
		return 0, ErrWait
	}
	n, err := c.in.move(p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	c.drained = err == nil && n < len(p) && c.in.impatient && !c.hungUp.Load()
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

// Close implements net.Conn. Of a connection that is watched, it is the end for all who use it, and its turn notices.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crew == nil || c.closed {
		c.closed = true
		return c.Conn.Close()
	}
	var failed error
	err := c.raw.Control(func(fd uintptr) { failed = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	c.hungUp.Store(true)
	c.crew.Wake(c.turn)
	if err == nil {
		err = os.NewSyscallError("shutdown", failed)
	}
	return err
}

// SetReadDeadline implements net.Conn. A turn that reads is told of one that has passed.
func (c *conn) SetReadDeadline(t time.Time) error {
	err := c.Conn.SetReadDeadline(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crew != nil && !t.IsZero() && !t.After(time.Now()) {
		c.hungUp.Store(true)
		c.crew.Wake(c.turn)
	}
	return err
}

// transfer is one direction of a connection.
type transfer struct {
	name      string
	until     func(func(fd uintptr) (done bool)) error // waits until the socket is ready again, as long as it is not done
	try       func(fd uintptr) (done bool)
	impatient bool // it does not wait

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
			switch {
			case err == syscall.EINTR:
				continue
			case err == syscall.EAGAIN && !t.impatient:
				return false
			}
			t.n, t.err = int(n), err
			return true
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
	switch {
	case err != nil:
		return 0, err
	case t.err == syscall.EAGAIN:
		return 0, ErrWait
	case t.err != 0:
		return 0, os.NewSyscallError(t.name, t.err)
	}
	return t.n, nil
}
