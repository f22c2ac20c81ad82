//go:build amd64 || arm64

package datagram

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// batchSize is the number of packets of a system call.
const batchSize = 32

// mmsghdr is that of recvmmsg(2).
type mmsghdr struct {
	unix.Msghdr
	size uint32
	_    [4]byte
}

// vector is the argument of recvmmsg and sendmmsg.
type vector struct {
	headers [batchSize]mmsghdr
	pieces  [batchSize]unix.Iovec
	names   [batchSize]unix.RawSockaddrInet6 // also has the space for those of IPv4
}

// point makes message i one of these bytes, from or to an address of the size of the name.
func (v *vector) point(i int, b []byte, nameSize uint32) {
	v.pieces[i].Base = unsafe.SliceData(b)
	v.pieces[i].SetLen(len(b))
	h := &v.headers[i]
	h.Iov, h.Namelen, h.Name = &v.pieces[i], nameSize, nil
	h.SetIovlen(1)
	if nameSize > 0 {
		h.Name = (*byte)(unsafe.Pointer(&v.names[i]))
	}
}

// call makes a system call for the first n messages.
func (v *vector) call(number, fd uintptr, n int) (int, syscall.Errno) {
	for {
		done, _, errno := syscall.RawSyscall6(number, fd, uintptr(unsafe.Pointer(&v.headers[0])), uintptr(n),
			syscall.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(done), 0
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}

// batch receives packets.
type batch struct {
	in     vector
	buffer []byte // pages that no packet has reached are not resident
	raw    syscall.RawConn
	n      int
	errno  syscall.Errno
	read   func(fd uintptr) bool
	// Packets that are relayed directly.
	out   vector
	dirty []*relay
}

const slot = stream.MaxMessage + 1

func allocateBatch() *batch {
	b := &batch{buffer: make([]byte, batchSize*slot)}
	b.read = b.receiveOnce
	return b
}

func newBatch(c *net.UDPConn) *batch {
	b := allocateBatch()
	b.raw, _ = c.SyscallConn() // it fails only for a nil connection
	return b
}

// batches are for connected sockets.
var batches = sync.Pool{New: func() any { return allocateBatch() }}

func (b *batch) receiveOnce(fd uintptr) (done bool) {
	for i := range batchSize {
		b.in.point(i, b.buffer[i*slot:(i+1)*slot], uint32(unsafe.Sizeof(b.in.names[i])))
	}
	b.n, b.errno = b.in.call(unix.SYS_RECVMMSG, fd, batchSize)
	return b.errno != syscall.EAGAIN
}

// receive waits for packets.
func (b *batch) receive() (int, error) {
	if err := b.raw.Read(b.read); err != nil {
		return 0, err
	}
	if b.errno != 0 {
		return 0, os.NewSyscallError("recvmmsg", b.errno)
	}
	return b.n, nil
}

func (b *batch) message(i int) []byte { return b.buffer[i*slot : i*slot+int(b.in.headers[i].size)] }

func (b *batch) addr(i int) netip.AddrPort {
	name := &b.in.names[i]
	port := func(p *uint16) uint16 {
		b := (*[2]byte)(unsafe.Pointer(p))
		return uint16(b[0])<<8 | uint16(b[1])
	}
	if name.Family == unix.AF_INET {
		four := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(four.Addr), port(&four.Port))
	}
	a := netip.AddrFrom16(name.Addr)
	if name.Scope_id != 0 {
		a = a.WithZone(strconv.FormatUint(uint64(name.Scope_id), 10))
	}
	return netip.AddrPortFrom(a, port(&name.Port))
}

// setName writes the address of a packet that is sent, and returns its size.
func (v *vector) setName(i int, a netip.AddrPort, six bool) uint32 {
	name := &v.names[i]
	*name = unix.RawSockaddrInet6{}
	p := (*[2]byte)(unsafe.Pointer(&name.Port)) // at the same place in both forms
	p[0], p[1] = byte(a.Port()>>8), byte(a.Port())
	if !six {
		four := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		four.Family, four.Addr = unix.AF_INET, a.Addr().As4()
		return uint32(unsafe.Sizeof(*four))
	}
	name.Family, name.Addr = unix.AF_INET6, a.Addr().As16()
	if scope, err := strconv.ParseUint(a.Addr().Zone(), 10, 32); err == nil {
		name.Scope_id = uint32(scope)
	}
	return uint32(unsafe.Sizeof(*name))
}
