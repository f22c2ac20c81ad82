package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/proxyprotocol"
)

// captures are the ports to which packet rules redirect connections. Several listeners share a port.
type captures struct {
	proxy *Proxy
	mu    sync.Mutex
	ports map[int]*capturedPort
}

// capturedPort are the sockets of a port, one for each family, and the listeners that share them.
type capturedPort struct {
	sockets []net.Listener
	takers  []*taker                     // the newest last; guarded by captures
	takes   atomic.Pointer[destinations] // made of the takers
}

// taker is a listener with the connections that it takes.
type taker struct {
	listener *listener
	captured *config.Captured
	serve    func(net.Conn, proxyprotocol.Header)
}

// listen makes a listener take connections. If two listeners name one destination, the newest one takes its
// connections: it may replace the other.
func (c *captures) listen(l *listener, spec *config.ListenerSpec, serve func(net.Conn, proxyprotocol.Header)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.ports[spec.Port]
	if p == nil {
		p = &capturedPort{}
		if err := c.open(p, spec.Port); err != nil {
			return err
		}
		c.ports[spec.Port] = p
	}
	p.takers = append(p.takers, &taker{l, spec.Captured, serve})
	p.index()
	l.closeSocket = func() { c.remove(l, spec.Port) }
	context.AfterFunc(l.ctx, l.closeSocket)
	return nil
}

// update changes the destinations of a listener. No connection is closed.
func (c *captures) update(l *listener, spec *config.ListenerSpec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.ports[spec.Port]
	for i, t := range p.takers {
		if t.listener == l {
			p.takers[i] = &taker{l, spec.Captured, t.serve}
		}
	}
	p.index()
}

// remove ends what a listener takes. The last one closes the sockets.
func (c *captures) remove(l *listener, port int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.ports[port]
	if p == nil {
		return
	}
	p.takers = slices.DeleteFunc(p.takers, func(t *taker) bool { return t.listener == l })
	p.index()
	if len(p.takers) == 0 {
		delete(c.ports, port)
		p.close()
	}
}

func (p *capturedPort) close() {
	for _, s := range p.sockets {
		_ = s.Close() // interrupts Accept
	}
}

func (p *capturedPort) index() { p.takes.Store(destinationsOf(p.takers)) }

// open listens on both families. Kernels may lack one of them.
func (c *captures) open(p *capturedPort, port int) error {
	var failed error
	for _, network := range []string{"tcp4", "tcp6"} {
		s, err := (&net.ListenConfig{}).Listen(c.proxy.ctx, network, net.JoinHostPort("", strconv.Itoa(port)))
		if err != nil {
			failed = err
			if network == "tcp4" {
				break
			}
			continue
		}
		p.sockets = append(p.sockets, s)
	}
	if len(p.sockets) == 0 {
		return failed
	}
	p.index()
	for _, s := range p.sockets {
		c.proxy.running.Go(func() { c.accept(s, p) })
	}
	return nil
}

// accept accepts connections until the socket is closed.
func (c *captures) accept(socket net.Listener, p *capturedPort) {
	for {
		nc, err := socket.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			c.proxy.log.Warn("accepting a captured connection failed", "address", socket.Addr(), "error", err)
			time.Sleep(acceptPause)
			continue
		}
		c.proxy.running.Go(func() { c.serve(nc.(*net.TCPConn), p) })
	}
}

// serve gives a connection to the listener that takes it.
func (c *captures) serve(nc *net.TCPConn, p *capturedPort) {
	to, err := originalDestination(nc)
	if err == nil && to == addrPort(nc.LocalAddr()) {
		err = fmt.Errorf("the connection to %s was not redirected", to)
	}
	var t *taker
	conn := net.Conn(nc)
	if err == nil {
		t, conn = p.takes.Load().find(nc, to)
	}
	if t == nil {
		if err != nil {
			c.proxy.log.Debug("a captured connection is closed", "client", nc.RemoteAddr(), "error", err)
		}
		_ = conn.Close() // nobody takes it
		return
	}
	select {
	case <-t.listener.begun:
		t.serve(conn, proxyprotocol.Header{Source: addrPort(nc.RemoteAddr()), Destination: to})
	case <-t.listener.ctx.Done():
		_ = conn.Close() // the listener was not needed
	}
}
