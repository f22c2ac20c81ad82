package socket

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// most is the maximum number of events per epoll_wait call. If a call returns that many, another goroutine is
// started.
const most = 32

// poll waits for input on any of many connections, with an epoll instance that the netpoller watches.
type poll struct {
	users atomic.Int32

	mu    sync.Mutex // guards the fields up to last
	file  *os.File
	raw   syscall.RawConn
	conns map[int32]*conn
	last  int32 // last used number of a connection

	// Used only by the goroutine that waits.
	events [most]syscall.EpollEvent
	ready  int
}

func (p *poll) inUse() bool { return p.users.Load() > 0 }

// open creates the epoll instance. It requires the lock.
func (p *poll) open() error {
	if p.file != nil {
		return nil
	}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // os.NewFile uses the netpoller only for nonblocking files
		return os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), "epoll")
	if p.raw, err = file.SyscallConn(); err != nil {
		return err
	}
	p.file, p.conns = file, map[int32]*conn{}
	return nil
}

// add adds a connection with its own descriptor.
func (p *poll) add(c *conn, fd uintptr) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(); err != nil {
		return err
	}
	p.last++
	for p.conns[p.last] != nil {
		p.last++
	}
	if !p.inUse() {
		if err := p.file.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
	}
	// unix.EPOLLET, because the sign of syscall.EPOLLET depends on the platform
	event := syscall.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: p.last}
	var failed error
	err := p.raw.Control(func(epoll uintptr) {
		failed = os.NewSyscallError("epoll_ctl", syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_ADD, int(fd), &event))
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	c.number = p.last
	p.conns[c.number] = c
	p.users.Add(1)
	return nil
}

// remove removes a connection. Its descriptor must be closed immediately afterwards.
func (p *poll) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c.number)
	if p.users.Add(-1) == 0 {
		_ = p.file.SetReadDeadline(time.Unix(1, 0)) // ends the waiting goroutine
	}
}

// wait waits for events and appends the tasks of their connections. It returns without tasks if there are no
// connections left.
func (p *poll) wait(found []*Task) []*Task {
	if err := p.raw.Read(p.ask); err != nil {
		return found
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events[:p.ready] {
		if c := p.conns[e.Fd]; c != nil {
			if e.Events&^syscall.EPOLLIN != 0 {
				c.hungUp.Store(true)
			}
			found = append(found, c.task)
		}
	}
	return found
}

// ask reports whether there are events.
func (p *poll) ask(fd uintptr) (done bool) {
	n, _, err := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&p.events[0])), most, 0, 0, 0)
	if p.ready = int(n); err != 0 {
		p.ready = 0
		return err != syscall.EINTR
	}
	return n > 0
}

// Watch adds a direct connection to the pool: the task runs whenever data may be available. From then on only the
// task may read, and Read returns ErrWait instead of blocking. Close interrupts all calls on the connection; the task
// must then call Release. Watch returns false if the connection cannot be watched.
func (c *WorkerPool) Watch(direct net.Conn, t *Task) bool {
	one := unwrap(direct)
	if one == nil {
		return false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.closed {
		return false
	}
	fd, err := duplicate(one.in.fd)
	if err != nil {
		return false
	}
	one.task, one.pool, one.watched = t, c, true // before the first event
	if err := c.poll.add(one, fd); err != nil {
		one.task, one.pool, one.watched = nil, nil, false
		_ = syscall.Close(int(fd))
		return false
	}
	one.replaceDescriptor(fd)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.waiting:
	case c.working == 0:
		c.spawn()
	default:
		c.lookAfter()
	}
	return true
}

// Release closes a connection; the task of a watched connection calls it. The task may run once more if it was woken
// before.
func (c *WorkerPool) Release(direct net.Conn) error {
	one := unwrap(direct)
	if one == nil {
		return direct.Close()
	}
	one.mu.Lock()
	if one.pool != nil {
		c.poll.remove(one)
		one.pool = nil
	}
	err := one.closeLocked()
	one.mu.Unlock()
	if direct != net.Conn(one) {
		_ = direct.Close() // the wrapping connection may have resources of its own
	}
	return err
}
