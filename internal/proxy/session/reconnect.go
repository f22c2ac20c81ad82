package session

import (
	"context"
	"errors"
	"io"
	"net"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// reconnecting is a stage that connects again when its connection ends before the session does.
type reconnecting stage

func (r *reconnecting) stage() *stage { return (*stage)(r) }

// current returns the connection, after it was replaced if that is happening now; nil if the session ends.
func (r *reconnecting) current() (s stream.Stream, ended bool) {
	g := r.stage()
	s, ended, closed := r.peek()
	if s == nil && !closed {
		g.reconnect.Lock()
		defer g.reconnect.Unlock()
		s, ended, _ = r.peek()
	}
	return s, ended
}

// peek returns the connection; nil if there is none now.
func (r *reconnecting) peek() (s stream.Stream, ended, closed bool) {
	g := r.stage()
	g.session.mu.Lock()
	defer g.session.mu.Unlock()
	return g.stream, g.ended || g.closed, g.closed
}

// Read implements stream.Stream.
func (r *reconnecting) Read(p []byte) (int, error) {
	for {
		s, ended := r.current()
		if s == nil {
			return 0, net.ErrClosed
		}
		n, err := s.Read(p)
		if err == nil || n > 0 || ended {
			return n, err
		}
		if again := r.again(s); again != nil {
			return 0, err
		}
	}
}

// Write implements stream.Stream. What a connection did not take is sent on the next one.
func (r *reconnecting) Write(p []byte) (written int, err error) {
	for {
		s, _ := r.current()
		if s == nil {
			return written, net.ErrClosed
		}
		n, err := s.Write(p[written:])
		written += n
		if err == nil || errors.Is(err, stream.ErrTooLong) {
			return written, err
		}
		if again := r.again(s); again != nil {
			return written, err
		}
	}
}

// again replaces a connection that has ended. Of the reading and the writing goroutine the first one does it.
func (r *reconnecting) again(old stream.Stream) error {
	g := r.stage()
	g.reconnect.Lock()
	defer g.reconnect.Unlock()
	now, ended, _ := r.peek()
	switch {
	case ended || now == nil:
		return io.EOF
	case now != old:
		return nil
	}
	g.session.event("DISCONNECT", g.role)
	g.session.setStatus(statusDisconnected)
	g.disconnect(statusDisconnected)
	g.chooseAgain()
	retries := max(0, g.retry.Retries()-1)
	if err := g.connect(g.session.context, true, retries); err != nil {
		return err
	}
	g.session.setStatus(statusConnected)
	g.session.event("CONNECT", g.role)
	return nil
}

// CloseWrite implements stream.Stream.
func (r *reconnecting) CloseWrite() error {
	g := r.stage()
	g.session.mu.Lock()
	g.ended = true
	g.session.mu.Unlock()
	s, _ := r.current()
	if s == nil {
		return net.ErrClosed
	}
	return s.CloseWrite()
}

// Close implements stream.Stream.
func (r *reconnecting) Close() error {
	r.stage().close()
	return nil
}

// Messages implements stream.Stream.
func (r *reconnecting) Messages() bool {
	s, _, _ := r.peek()
	return s != nil && s.Messages()
}

// closedStream is the stream of a stage that was closed.
type closedStream struct{}

func (closedStream) Read([]byte) (int, error)  { return 0, context.Canceled }
func (closedStream) Write([]byte) (int, error) { return 0, context.Canceled }
func (closedStream) CloseWrite() error         { return context.Canceled }
func (closedStream) Close() error              { return nil }
func (closedStream) Messages() bool            { return false }
