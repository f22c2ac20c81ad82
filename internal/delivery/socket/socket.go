package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Listener is a listener whose connections are direct.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Direct(c), nil
}

// Direct returns a connection whose reads and writes are plain system calls. It returns c itself if c has no
// descriptor, or is or wraps a direct connection. Calls of Read must not overlap with each other, nor calls of Write.
// Deadlines are checked only when a call has to wait.
func Direct(c net.Conn) net.Conn {
	if unwrap(c) != nil {
		return c
	}
	system, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return c
	}
	d := &conn{
		Conn: c,
		in:   direction{name: "recvfrom", call: syscall.SYS_RECVFROM, waitReady: raw.Read},
		out:  direction{name: "sendto", call: syscall.SYS_SENDTO, waitReady: raw.Write},
	}
	if err := raw.Control(func(fd uintptr) { d.in.fd, d.out.fd = fd, fd }); err != nil {
		return c
	}
	return d
}

// SetKeepAlive has the kernel probe an idle connection every 15 s, by default. A connection that the peer has forgotten
// then ends, although nothing is sent on it. It must precede Watch. It changes direct TCP connections only.
func SetKeepAlive(c net.Conn) error {
	direct := unwrap(c)
	if direct == nil {
		return nil
	}
	tcp, is := direct.Conn.(*net.TCPConn)
	if !is {
		return nil
	}
	return tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true})
}

// unwrap returns the direct connection that c is or wraps (method NetConn), or nil.
func unwrap(c net.Conn) *conn {
	for {
		switch one := c.(type) {
		case *conn:
			return one
		case interface{ NetConn() net.Conn }:
			c = one.NetConn()
		default:
			return nil
		}
	}
}

type conn struct {
	net.Conn // of the net package; closed and used only for addresses once watched
	in, out  direction

	// Of watched connections.
	watched     bool
	drained     bool        // the last read returned all available data; used by the task
	hungUp      atomic.Bool // after the available data there may be EOF, or a deadline has passed
	readExpired atomic.Bool // the read deadline has passed
	task        *Task
	number      int32

	mu           sync.Mutex // guards the fields below
	closed       bool
	pool         *WorkerPool
	writeBy      time.Time
	blockedWrite *os.File // descriptor of a blocked write
}

// ErrWait is the error of Read on a watched connection if no data is available.
var ErrWait net.Error = wait{}

type wait struct{}

func (wait) Error() string { return "there is nothing to read now" }

// Timeout implements net.Error.
func (wait) Timeout() bool { return true }

// Temporary implements net.Error: crypto/tls can continue after a temporary error.
func (wait) Temporary() bool { return true }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.drained {
		c.drained = false // the task was woken since
		return 0, ErrWait
	}
	n, errno := c.in.transfer(p)
	var err error
	switch {
	case errno != syscall.EAGAIN:
		err = c.in.errorOf(errno)
	case !c.watched:
		n, err = c.in.transferWhenReady(c.in.waitReady, p)
	case c.readExpired.Load():
		return 0, os.ErrDeadlineExceeded
	default:
		return 0, ErrWait
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	c.drained = err == nil && n < len(p) && c.watched && !c.hungUp.Load()
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (written int, err error) {
	for written < len(p) && err == nil {
		n, errno := c.out.transfer(p[written:])
		switch {
		case errno != syscall.EAGAIN:
			err = c.out.errorOf(errno)
		case !c.watched:
			n, err = c.out.transferWhenReady(c.out.waitReady, p[written:])
		default:
			n, err = c.writeWhenReady(p[written:])
		}
		written += n
	}
	return written, err
}

// writeWhenReady waits until a watched connection is writable and writes. It uses a temporary descriptor in the
// netpoller.
func (c *conn) writeWhenReady(p []byte) (int, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	fd, err := duplicate(c.out.fd)
	if err != nil {
		c.mu.Unlock()
		return 0, err
	}
	file := os.NewFile(fd, "socket")
	c.blockedWrite = file
	err = file.SetWriteDeadline(c.writeBy)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.blockedWrite = nil
		_ = file.Close()
	}()
	if err != nil {
		return 0, err
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	n, err := c.out.transferWhenReady(raw.Write, p)
	if c.mu.Lock(); errors.Is(err, os.ErrDeadlineExceeded) && c.closed {
		err = net.ErrClosed
	}
	c.mu.Unlock()
	return n, err
}

func duplicate(fd uintptr) (uintptr, error) {
	own, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return 0, os.NewSyscallError("fcntl", errno)
	}
	return own, nil
}

// replaceDescriptor replaces the descriptor of the net package by fd, because the netpoller would wake up for all
// input. It requires the lock.
func (c *conn) replaceDescriptor(fd uintptr) {
	for _, d := range []*direction{&c.in, &c.out} {
		d.mu.Lock()
		d.fd = fd
		d.mu.Unlock()
	}
	_ = c.Conn.Close() // the connection stays open with fd
}

// Close implements net.Conn. It interrupts all calls on a watched connection and wakes its task, which releases it.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool == nil || c.closed {
		return c.closeLocked()
	}
	err := os.NewSyscallError("shutdown", syscall.Shutdown(int(c.in.fd), syscall.SHUT_RDWR))
	c.hungUp.Store(true)
	c.pool.Wake(c.task)
	return err
}

// closeLocked closes the connection. It requires the lock.
func (c *conn) closeLocked() error {
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	if c.blockedWrite != nil {
		_ = c.blockedWrite.SetWriteDeadline(time.Unix(1, 0)) // interrupts a blocked write, which has its own descriptor
	}
	c.in.close()
	c.out.close()
	if c.watched {
		return os.NewSyscallError("close", syscall.Close(int(c.in.fd)))
	}
	return c.Conn.Close()
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn. A watched connection supports only deadlines in the past, which wake its task.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.pool == nil:
		return c.Conn.SetReadDeadline(t)
	case t.IsZero() || t.After(time.Now()):
		return os.ErrNoDeadline
	}
	c.readExpired.Store(true)
	c.hungUp.Store(true)
	c.pool.Wake(c.task)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool == nil {
		return c.Conn.SetWriteDeadline(t)
	}
	if c.writeBy = t; c.blockedWrite != nil {
		return c.blockedWrite.SetWriteDeadline(t)
	}
	return nil
}
