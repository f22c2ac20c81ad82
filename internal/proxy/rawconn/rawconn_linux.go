package rawconn

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// Conn is a connection. Calls of reads must not overlap, nor calls of writes.
type Conn struct {
	net.Conn
	raw syscall.RawConn
	// Of the current read and write.
	in, out           call
	pool              *sync.Pool
	pooled            *[]byte
	read, write, wait func(fd uintptr) bool // methods; values that are made once
}

// call is a read or write.
type call struct {
	data  []byte
	n     int
	errno syscall.Errno
}

// New returns a connection with cheap reads and writes. It returns false if c is no socket of package net.
func New(c net.Conn) (*Conn, bool) {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return nil, false
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, false
	}
	out := &Conn{Conn: c, raw: raw}
	out.read, out.write, out.wait = out.readOnce, out.writeAll, out.readPooled
	return out, true
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.in = call{data: p}
	err := c.raw.Read(c.read)
	c.in.data = nil
	return c.readResult(err)
}

// ReadPooled reads into a buffer of the pool, which it takes only when there is data.
func (c *Conn) ReadPooled(pool *sync.Pool) (*[]byte, int, error) {
	c.in, c.pool = call{}, pool
	err := c.raw.Read(c.wait)
	buffer := c.pooled
	c.in.data, c.pool, c.pooled = nil, nil, nil
	n, err := c.readResult(err)
	if err != nil && buffer != nil {
		pool.Put(buffer)
		buffer = nil
	}
	return buffer, n, err
}

func (c *Conn) readResult(err error) (int, error) {
	switch {
	case err != nil:
		return 0, err
	case c.in.errno != 0:
		return 0, os.NewSyscallError("recvfrom", c.in.errno)
	case c.in.n == 0:
		return 0, io.EOF
	}
	return c.in.n, nil
}

func (c *Conn) readOnce(fd uintptr) (done bool) {
	c.in.n, c.in.errno = transfer(syscall.SYS_RECVFROM, fd, c.in.data)
	return c.in.errno != syscall.EAGAIN
}

func (c *Conn) readPooled(fd uintptr) (done bool) {
	c.pooled = c.pool.Get().(*[]byte)
	c.in.data = *c.pooled
	if c.readOnce(fd) {
		return true
	}
	c.pool.Put(c.pooled)
	c.in.data, c.pooled = nil, nil
	return false
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.out = call{data: p}
	err := c.raw.Write(c.write)
	c.out.data = nil
	switch {
	case err != nil:
		return c.out.n, err
	case c.out.errno != 0:
		return c.out.n, os.NewSyscallError("sendto", c.out.errno)
	}
	return c.out.n, nil
}

func (c *Conn) writeAll(fd uintptr) (done bool) {
	for c.out.n < len(c.out.data) {
		n, errno := transfer(syscall.SYS_SENDTO, fd, c.out.data[c.out.n:])
		if errno != 0 {
			if errno == syscall.EAGAIN {
				return false
			}
			c.out.errno = errno
			return true
		}
		c.out.n += n
	}
	return true
}

// Alive reports whether an idle connection is open and has no data.
func (c *Conn) Alive() bool {
	var errno syscall.Errno
	var one [1]byte
	err := c.raw.Control(func(fd uintptr) {
		_, _, errno = syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&one[0])), 1,
			syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	})
	return err == nil && errno == syscall.EAGAIN
}

// Ended reports whether the peer has closed the connection, and all data was read.
func (c *Conn) Ended() bool {
	var n uintptr
	var errno syscall.Errno
	var one [1]byte
	err := c.raw.Control(func(fd uintptr) {
		n, _, errno = syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&one[0])), 1,
			syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	})
	return err != nil || errno == 0 && n == 0 || errno != 0 && errno != syscall.EAGAIN && errno != syscall.EINTR
}

// transfer moves data without waiting. The descriptor is nonblocking.
func transfer(number, fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
			syscall.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			return int(n), 0
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}
