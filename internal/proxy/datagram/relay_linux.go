//go:build amd64 || arm64

package datagram

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// relay sends the packets of a peer directly from the listener's goroutine to a connected socket: without a copy, and
// with one system call for all packets of a batch.
type relay struct {
	peer  *Peer
	raw   syscall.RawConn
	count func(int)
	batch []int // the messages of the current batch
}

// CopyTo implements stream.Copier.
func (p *Peer) CopyTo(to stream.Stream, count func(int)) (handled bool, err error) {
	c, is := to.(Conn)
	if !is {
		return false, nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, message := range p.queue { // the listener waits, so that the order is kept
		count(len(message))
		if _, err := c.Write(message); err != nil {
			return true, err
		}
	}
	p.queue, p.relay = nil, &relay{peer: p, raw: raw, count: count}
	defer func() { p.relay = nil }()
	for !p.closed && p.broken == nil {
		p.ready.Wait()
	}
	if p.broken != nil {
		return true, p.broken
	}
	return true, net.ErrClosed
}

// direct takes message i of a batch if the peer has a relay. It requires the lock of the peer.
func (p *Peer) direct(in *batch, i int) bool {
	r := p.relay
	if r == nil {
		return false
	}
	if len(r.batch) == 0 {
		in.dirty = append(in.dirty, r)
	}
	r.batch = append(r.batch, i)
	return true
}

// done sends the messages that were taken.
func (b *batch) done(l *Listener) {
	for _, r := range b.dirty {
		for i, message := range r.batch {
			b.out.point(i, b.message(message), 0)
			r.count(len(b.message(message)))
		}
		r.fail(send(r.raw, &b.out, len(r.batch), l))
		r.batch = r.batch[:0]
	}
	b.dirty = b.dirty[:0]
}

func (r *relay) fail(err error) {
	if err == nil {
		return
	}
	r.peer.mu.Lock()
	defer r.peer.mu.Unlock()
	if r.peer.relay == r {
		r.peer.broken = err
		r.peer.ready.Broadcast()
	}
}

// send sends n messages. Those for which the socket has no room, or that are too long, are dropped and counted.
func send(raw syscall.RawConn, v *vector, n int, l *Listener) error {
	var failed syscall.Errno
	err := raw.Write(func(fd uintptr) bool {
		for sent := 0; sent < n; {
			k, errno := v.shift(sent).call(unix.SYS_SENDMMSG, fd, n-sent)
			switch errno {
			case 0:
				sent += k
				continue
			case syscall.EAGAIN, syscall.EMSGSIZE, syscall.ENOBUFS:
				l.Dropped.Add(1)
				sent++
				continue
			}
			failed = errno
			return true
		}
		return true
	})
	if err != nil {
		return err
	}
	if failed != 0 {
		return os.NewSyscallError("sendmmsg", failed)
	}
	return nil
}

// shift moves the messages from an index on to the start.
func (v *vector) shift(from int) *vector {
	if from > 0 {
		copy(v.headers[:], v.headers[from:])
	}
	return v
}

// CopyTo implements stream.Copier: replies go to the peer with one system call for all that are there.
func (c Conn) CopyTo(to stream.Stream, count func(int)) (handled bool, err error) {
	p, is := to.(*Peer)
	if !is {
		return false, nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true, err
	}
	var b *batch
	take := func(fd uintptr) bool {
		b = batches.Get().(*batch)
		if b.receiveOnce(fd) {
			return true
		}
		batches.Put(b)
		b = nil
		return false
	}
	for {
		if err := raw.Read(take); err != nil {
			return true, err
		}
		if b.errno != 0 {
			return true, os.NewSyscallError("recvmmsg", b.errno)
		}
		for i := range b.n {
			b.out.point(i, b.message(i), b.out.setName(i, p.addr, p.l.six))
			count(len(b.message(i)))
		}
		p.used.Store(p.l.now.Load())
		err := send(p.l.raw, &b.out, b.n, p.l)
		batches.Put(b)
		if err != nil {
			return true, err
		}
	}
}
