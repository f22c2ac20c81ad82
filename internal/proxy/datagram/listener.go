package datagram

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// Terms say which peers a listener serves, and how.
type Terms struct {
	// Accept serves a new peer in a goroutine of its own.
	Accept func(*Peer)
	// Idle ends streams without packets for this time; 0 never.
	Idle time.Duration
	// Only has the address and port of the only new peers that are served; both may be unset.
	Only netip.AddrPort
}

// Listener is a UDP socket with a stream for each peer. It serves by the terms of its owner. When the owner stops it,
// it serves the peers that it has, and the next owner may take it over with them.
type Listener struct {
	// Dropped counts packets that did not fit into the queue of their stream.
	Dropped atomic.Uint64

	conn *net.UDPConn
	raw  syscall.RawConn
	six  bool         // the socket has addresses of IPv6
	now  atomic.Int64 // ticks

	mu      sync.Mutex // guards the fields below
	peers   map[netip.AddrPort]*Peer
	owner   *Terms
	begun   bool          // new peers are accepted
	stopped bool          // the socket ends with its last peer
	closed  bool          // the socket is closed
	reading bool          // a goroutine receives packets
	idle    chan struct{} // ends the goroutine that closes idle streams; nil without one
}

// Listen binds a socket for an owner. It is an error if the port is in use.
func (l *Listener) Listen(ctx context.Context, address string, owner *Terms) error {
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", address)
	if err != nil {
		return err
	}
	l.conn, l.peers, l.owner = conn.(*net.UDPConn), map[netip.AddrPort]*Peer{}, owner
	l.raw, _ = l.conn.SyscallConn() // it fails only for a nil connection
	l.six = l.conn.LocalAddr().(*net.UDPAddr).IP.To4() == nil
	_ = l.conn.SetReadBuffer(socketBuffer)  // the system has a limit of its own
	_ = l.conn.SetWriteBuffer(socketBuffer) // as above
	return nil
}

// socketBuffer is the size of the buffers of a listener's socket, in bytes.
const socketBuffer = 4 << 20

// Addr returns the local address.
func (l *Listener) Addr() netip.AddrPort { return l.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

// Open returns the stream of a peer, which may have sent nothing yet. It is new if it did not exist, and nil if the
// peer is not served.
func (l *Listener) Open(addr netip.AddrPort) (p *Peer, isNew bool) {
	p, accept := l.peer(addr)
	return p, accept != nil
}

// peer returns the stream of a peer, with the function that serves it if it is new.
func (l *Listener) peer(addr netip.AddrPort) (*Peer, func(*Peer)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[addr]; p != nil {
		return p, nil
	}
	if !l.begun || !l.owner.allow(addr) {
		return nil, nil
	}
	p := newPeer(l, addr)
	l.peers[addr] = p
	return p, l.owner.Accept
}

// allow reports whether a new peer is served.
func (t *Terms) allow(addr netip.AddrPort) bool {
	only := t.Only
	return (!only.Addr().IsValid() || only.Addr() == addr.Addr()) && (only.Port() == 0 || only.Port() == addr.Port())
}

// Serve receives packets until the socket is closed. It returns at once if another goroutine does so.
func (l *Listener) Serve() {
	l.mu.Lock()
	reading := l.reading
	l.reading = true
	l.mu.Unlock()
	if reading {
		return
	}
	in := newBatch(l.conn)
	for {
		n, err := in.receive()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		for i := 0; i < n; i++ {
			addr := in.addr(i)
			addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
			p, accept := l.peer(addr)
			for p != nil && !p.push(in, i) { // it was closed in this moment
				l.forget(p)
				p, accept = l.peer(addr)
			}
			if accept != nil {
				go accept(p)
			}
		}
		in.done(l)
	}
}

// ticksPerIdle is the number of ticks in the idle time.
const ticksPerIdle = 8

// expire closes streams without packets for a time.
func (l *Listener) expire(idle time.Duration, stop chan struct{}) {
	tick := time.NewTicker(max(idle/ticksPerIdle, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		now := l.now.Add(1)
		var over []*Peer
		l.mu.Lock()
		for _, p := range l.peers {
			if now-p.used.Load() > ticksPerIdle {
				over = append(over, p)
			}
		}
		l.mu.Unlock()
		for _, p := range over {
			if p.expire(now) {
				l.forget(p)
			}
		}
	}
}

// Peer is the stream of one peer.
type Peer struct {
	l    *Listener
	addr netip.AddrPort
	used atomic.Int64 // the tick of the last packet

	mu     sync.Mutex
	ready  sync.Cond
	queue  [][]byte
	closed bool
	relay  *relay // takes packets without the queue
	broken error  // of the relay
}

// MaxQueue limits the packets that wait for the session of a peer.
const MaxQueue = 1024

func newPeer(l *Listener, addr netip.AddrPort) *Peer {
	p := &Peer{l: l, addr: addr}
	p.ready.L = &p.mu
	p.used.Store(l.now.Load())
	return p
}

// Addr returns the address of the peer.
func (p *Peer) Addr() netip.AddrPort { return p.addr }

// expire closes the stream if it is idle.
func (p *Peer) expire(now int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now-p.used.Load() <= ticksPerIdle || len(p.queue) > 0 {
		return false
	}
	p.closed = true
	p.ready.Broadcast()
	return true
}

// push hands a packet to the session. It returns false if the stream is closed.
func (p *Peer) push(in *batch, i int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used.Store(p.l.now.Load())
	switch {
	case p.closed:
		return false
	case p.direct(in, i):
	case len(p.queue) >= MaxQueue:
		p.l.Dropped.Add(1)
	default:
		p.queue = append(p.queue, bytes.Clone(in.message(i)))
		p.ready.Signal()
	}
	return true
}

// Read implements stream.Stream.
func (p *Peer) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) == 0 {
		if p.closed {
			return 0, net.ErrClosed
		}
		p.ready.Wait()
	}
	n := copy(b, p.queue[0])
	p.queue[0] = nil
	if p.queue = p.queue[1:]; len(p.queue) == 0 {
		p.queue = nil
	}
	return n, nil
}

// Write implements stream.Stream.
func (p *Peer) Write(b []byte) (int, error) {
	p.used.Store(p.l.now.Load())
	return writeMessage(b, func() (int, error) { return p.l.conn.WriteToUDPAddrPort(b, p.addr) })
}

// CloseWrite implements stream.Stream.
func (p *Peer) CloseWrite() error { return stream.ErrNoHalfClose }

// Close implements stream.Stream. The next packet of the peer makes a new stream.
func (p *Peer) Close() error {
	p.l.forget(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.ready.Broadcast()
	return nil
}

// Messages implements stream.Stream.
func (p *Peer) Messages() bool { return true }
