package socket

import (
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// direction is the read or write side of a connection. close must be called before the descriptor is closed, because
// the runtime does not know about calls of transfer.
type direction struct {
	name string
	call uintptr
	// waitReady waits for readiness and calls the function until it returns true.
	waitReady func(func(fd uintptr) (done bool)) error

	mu     sync.Mutex
	fd     uintptr
	closed bool
}

// transfer moves data without blocking.
func (d *direction) transfer(p []byte) (int, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return 0, syscall.EBADF
	}
	return d.move(d.fd, p)
}

// transferWhenReady waits until data can be transferred. It is called after transfer returned EAGAIN.
func (d *direction) transferWhenReady(until func(func(fd uintptr) bool) error, p []byte) (n int, err error) {
	var errno syscall.Errno
	err = until(func(fd uintptr) (done bool) {
		n, errno = d.move(fd, p)
		return errno != syscall.EAGAIN
	})
	if err == nil {
		err = d.errorOf(errno)
	}
	return n, err
}

func (d *direction) move(fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(d.call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
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

func (d *direction) errorOf(errno syscall.Errno) error {
	switch errno {
	case 0:
		return nil
	case syscall.EBADF:
		return net.ErrClosed
	}
	return os.NewSyscallError(d.name, errno)
}

// close makes further calls of transfer fail. It must be called before the descriptor is closed.
func (d *direction) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}
