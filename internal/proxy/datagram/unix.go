package datagram

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// UnixListener is a unix datagram socket with a stream for each peer. Peers without an address have one stream
// together, and get no answers.
type UnixListener struct {
	// Accept serves a new peer in a goroutine of its own.
	Accept func(*UnixPeer)
	// Idle ends streams without messages for this time.
	Idle time.Duration
	// Dropped counts messages that did not fit into the queue of their stream.
	Dropped atomic.Uint64

	conn  *net.UnixConn
	mu    sync.Mutex
	peers map[string]*UnixPeer
}

// Listen binds a socket.
func (l *UnixListener) Listen(ctx context.Context, name string) error {
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, "unixgram", name)
	if err != nil {
		return err
	}
	l.conn, l.peers = conn.(*net.UnixConn), map[string]*UnixPeer{}
	return nil
}

// Close closes the socket and all streams, and removes the file.
func (l *UnixListener) Close() {
	name := l.conn.LocalAddr().String()
	if l.conn.Close() == nil { // interrupts Serve
		_ = os.Remove(name) // the next listener replaces it
	}
	l.mu.Lock()
	all := make([]*UnixPeer, 0, len(l.peers))
	for _, p := range l.peers {
		all = append(all, p)
	}
	l.mu.Unlock()
	for _, p := range all {
		_ = p.Close() // it has no error
	}
}

// Serve receives messages until the socket is closed.
func (l *UnixListener) Serve() {
	buffer := make([]byte, stream.MaxMessage+1)
	for {
		n, addr, err := l.conn.ReadFromUnix(buffer)
		if err != nil {
			return
		}
		message := append(make([]byte, 0, n), buffer[:n]...)
		p, isNew := l.peer(addr)
		if !p.Offer(message) {
			l.Dropped.Add(1)
		}
		if isNew {
			go l.Accept(p)
		}
	}
}

// peer returns the stream of a peer.
func (l *UnixListener) peer(addr *net.UnixAddr) (p *UnixPeer, isNew bool) {
	name := ""
	if addr != nil {
		name = addr.Name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p = l.peers[name]; p != nil {
		p.timer.Reset(l.Idle)
		return p, false
	}
	p = &UnixPeer{Pipe: stream.NewPipe(nil), l: l, name: name}
	p.timer = time.AfterFunc(l.Idle, func() { _ = p.Close() }) // it has no error
	l.peers[name] = p
	return p, true
}

// UnixPeer is the stream of a peer: reads return what it has sent.
type UnixPeer struct {
	*stream.Pipe
	l     *UnixListener
	name  string
	timer *time.Timer
}

// Name returns the address of the peer; empty if it has none.
func (p *UnixPeer) Name() string { return p.name }

// Write implements stream.Stream.
func (p *UnixPeer) Write(b []byte) (int, error) {
	if p.name == "" {
		return len(b), nil
	}
	p.timer.Reset(p.l.Idle)
	return writeMessage(b, func() (int, error) {
		return p.l.conn.WriteToUnix(b, &net.UnixAddr{Name: p.name, Net: "unixgram"})
	})
}

// CloseWrite implements stream.Stream.
func (p *UnixPeer) CloseWrite() error { return stream.ErrNoHalfClose }

// Close implements stream.Stream. The next message of the peer makes a new stream.
func (p *UnixPeer) Close() error {
	p.l.mu.Lock()
	if p.l.peers[p.name] == p {
		delete(p.l.peers, p.name)
	}
	p.timer.Stop()
	p.l.mu.Unlock()
	return p.Pipe.Close()
}

// UnixConn is a unix datagram socket that is connected to an endpoint.
type UnixConn struct{ *net.UnixConn }

// Write implements stream.Stream.
func (c UnixConn) Write(b []byte) (int, error) {
	return writeMessage(b, func() (int, error) { return c.UnixConn.Write(b) })
}

// CloseWrite implements stream.Stream.
func (UnixConn) CloseWrite() error { return stream.ErrNoHalfClose }

// Messages implements stream.Stream.
func (UnixConn) Messages() bool { return true }
