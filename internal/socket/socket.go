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
// Neither reads nor writes may overlap with others of their kind. A deadline that has passed is noticed by those who wait.
func Direct(c net.Conn) net.Conn {
	under, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := under.SyscallConn()
	if err != nil {
		return c
	}
	d := &conn{
		Conn: c, raw: raw,
		in:  direction{name: "recvfrom", call: syscall.SYS_RECVFROM, until: raw.Read},
		out: direction{name: "sendto", call: syscall.SYS_SENDTO, until: raw.Write},
	}
	if err := raw.Control(func(fd uintptr) { d.fd = fd }); err != nil {
		return c
	}
	return d
}

type conn struct {
	net.Conn
	raw     syscall.RawConn
	fd      uintptr // good as long as a direction is open
	in, out direction

	// Of a connection that is watched.
	impatient bool        // reads do not wait
	drained   bool        // as the last read showed; of the turn
	hungUp    atomic.Bool // there may be an end behind what there is to read, or a deadline
	turn      *Turn
	number    int32

	mu     sync.Mutex // of what follows
	closed bool
	crew   *Crew
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
	n, errno := c.in.now(c.fd, p)
	var err error
	switch {
	case errno == syscall.EAGAIN && c.impatient && !c.hungUp.Load():
		return 0, ErrWait
	case errno == syscall.EAGAIN:
		n, err = c.in.later(p, c.impatient)
	default:
		err = c.in.failure(errno)
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	c.drained = err == nil && n < len(p) && c.impatient && !c.hungUp.Load()
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (written int, err error) {
	for written < len(p) && err == nil {
		n, errno := c.out.now(c.fd, p[written:])
		if errno == syscall.EAGAIN {
			n, err = c.out.later(p[written:], false)
		} else {
			err = c.out.failure(errno)
		}
		written += n
	}
	return written, err
}

// Close implements net.Conn. Of a connection that is watched, it is the end for all who use it, and its turn notices.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crew == nil || c.closed {
		return c.end()
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

// end closes the connection for all. It needs the lock.
func (c *conn) end() error {
	c.closed = true
	c.in.end()
	c.out.end()
	return c.Conn.Close()
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

// direction is one of a connection's two. The descriptor belongs to Go, who closes it when nobody uses it any more; now is not noticed by Go, so
// that it has to be shut before.
type direction struct {
	name  string
	call  uintptr
	until func(func(fd uintptr) (done bool)) error // waits until the socket is ready again, as long as it is not done

	mu   sync.Mutex
	shut bool
}

// now moves what can be moved without waiting.
func (d *direction) now(fd uintptr, p []byte) (int, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return 0, syscall.EBADF
	}
	return d.move(fd, p)
}

// later waits until something can be moved, unless it is impatient. It is for what now could not do.
func (d *direction) later(p []byte, impatient bool) (n int, err error) {
	var errno syscall.Errno
	err = d.until(func(fd uintptr) (done bool) {
		n, errno = d.move(fd, p)
		return errno != syscall.EAGAIN || impatient
	})
	if err == nil {
		err = d.failure(errno)
	}
	return n, err
}

func (d *direction) move(fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(d.call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			return int(n), 0
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}

func (d *direction) failure(errno syscall.Errno) error {
	switch errno {
	case 0:
		return nil
	case syscall.EAGAIN:
		return ErrWait
	case syscall.EBADF:
		return net.ErrClosed
	}
	return os.NewSyscallError(d.name, errno)
}

// end is for whoever closes the connection. Those who wait are Go's.
func (d *direction) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
}
