package socket

import (
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// direction is one of a connection's two. Whoever closes its descriptor has to end it before: what is done now is not
// noticed by Go.
type direction struct {
	name  string
	call  uintptr
	until func(func(fd uintptr) (done bool)) error // waits until the socket is ready again, as long as it is not done

	mu   sync.Mutex
	fd   uintptr
	shut bool
}

// now moves what can be moved without waiting.
func (d *direction) now(p []byte) (int, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return 0, syscall.EBADF
	}
	return d.move(d.fd, p)
}

// later waits until something can be moved. It is for what now could not do.
func (d *direction) later(until func(func(fd uintptr) bool) error, p []byte) (n int, err error) {
	var errno syscall.Errno
	err = until(func(fd uintptr) (done bool) {
		n, errno = d.move(fd, p)
		return errno != syscall.EAGAIN
	})
	if err == nil {
		err = d.failure(errno)
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

func (d *direction) failure(errno syscall.Errno) error {
	switch errno {
	case 0:
		return nil
	case syscall.EBADF:
		return net.ErrClosed
	}
	return os.NewSyscallError(d.name, errno)
}

// end is for whoever closes the descriptor.
func (d *direction) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
}
