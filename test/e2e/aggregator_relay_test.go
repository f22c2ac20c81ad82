package e2e

import (
	"net"
	"sync"
	"sync/atomic"
)

// relay passes TCP connections on to a target, until a test cuts it. With another target it is a load balancer whose
// clients move to another replica.
type relay struct {
	listener net.Listener
	target   atomic.Pointer[string]
	refuses  atomic.Bool
	// silent is write-locked while no bytes are passed on.
	silent sync.RWMutex
	mutex  sync.Mutex
	open   map[net.Conn]bool
}

func newRelay(target string) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: listener, open: map[net.Conn]bool{}}
	r.target.Store(&target)
	go r.serve()
	return r, nil
}

func (r *relay) address() string { return r.listener.Addr().String() }

func (r *relay) serve() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		go r.connect(from)
	}
}

func (r *relay) connect(from net.Conn) {
	defer r.drop(from)
	if !r.keep(from) {
		return
	}
	to, err := net.Dial("tcp", *r.target.Load())
	if err != nil {
		return
	}
	defer r.drop(to)
	if !r.keep(to) {
		return
	}
	go func() {
		r.copy(to, from)
		r.drop(to) // ends the other direction
	}()
	r.copy(from, to)
}

// copy passes bytes on until a side closes.
func (r *relay) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		r.silent.RLock()
		_, writeErr := to.Write(buffer[:n])
		r.silent.RUnlock()
		if err != nil || writeErr != nil {
			return
		}
	}
}

// keep remembers a connection, and returns false if connections are refused.
func (r *relay) keep(c net.Conn) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.open[c] = true
	return !r.refuses.Load()
}

func (r *relay) drop(c net.Conn) {
	_ = c.Close()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.open, c)
}

// reset closes all connections.
func (r *relay) reset() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for c := range r.open {
		_ = c.Close()
	}
}

// cut closes all connections and refuses new ones, until heal.
func (r *relay) cut() {
	r.refuses.Store(true)
	r.reset()
}

func (r *relay) heal() { r.refuses.Store(false) }

// hold keeps connections open without passing bytes on, as a half-open connection does, until release.
func (r *relay) hold() { r.silent.Lock() }

func (r *relay) release() { r.silent.Unlock() }

// move sends clients to another target.
func (r *relay) move(target string) {
	r.target.Store(&target)
	r.reset()
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.cut()
}
