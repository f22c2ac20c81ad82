package h2

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
)

// Pool has the connections to one endpoint.
type Pool struct {
	mu      sync.Mutex
	conns   []*conn
	dialing chan struct{} // closed when the connection that is being made is there, or has failed
	closed  bool
}

// Get returns a stream of a connection that has room for it; without one, it makes a connection. If the endpoint has
// chosen HTTP/1.1 in the handshake of TLS, the result is the connection itself, and plain is true. A stream for a
// WebSocket waits for the settings of the endpoint.
func (p *Pool) Get(
	ctx context.Context, webSocket bool, dial func(context.Context) (net.Conn, error),
) (nc net.Conn, plain bool, err error) {
	for {
		s, wait := p.take()
		switch {
		case s != nil && webSocket:
			if err := s.c.awaitSettings(ctx); err != nil {
				_ = s.Close() // it was not used
				return nil, false, err
			}
			return s, false, nil
		case s != nil:
			return s, false, nil
		case wait != nil:
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, false, ctx.Err()
			}
		}
		nc, err := dial(ctx)
		if err != nil {
			p.done(nil)
			return nil, false, err
		}
		if _, secure := nc.(*tls.Conn); secure && !Chosen(nc) {
			p.done(nil)
			return nc, true, nil
		}
		c := newClient(nc, DefaultLimits, p)
		s = c.take()
		p.done(c)
		if s == nil {
			continue // it has ended already
		}
		if webSocket {
			if err := c.awaitSettings(ctx); err != nil {
				_ = s.Close() // it was not used
				return nil, false, err
			}
		}
		return s, false, nil
	}
}

// take returns a stream, or what to wait for. Neither asks the caller to make a connection.
func (p *Pool) take() (*Stream, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		if s := c.take(); s != nil {
			return s, nil
		}
	}
	if p.dialing != nil {
		return nil, p.dialing
	}
	p.dialing = make(chan struct{})
	return nil, nil
}

// done ends the making of a connection.
func (p *Pool) done(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.dialing)
	p.dialing = nil
	if c == nil {
		return
	}
	c.mu.Lock()
	ended := c.err != nil
	c.leaving = c.leaving || p.closed
	c.mu.Unlock()
	if !ended {
		p.conns = append(p.conns, c)
	}
}

func (p *Pool) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(one *conn) bool { return one == c })
}

// Close ends the connections when their streams have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	all := p.conns
	p.conns, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range all {
		go c.drain()
	}
}
