package h2

import (
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
	"anymesh.dev/anymesh/internal/proxy/http1"
)

// Stream is a stream as a connection with HTTP/1.1: one request and its response. Close ends the stream, and resets it
// if it is not complete.
type Stream struct {
	c  *conn
	id uint32 // 0 before the head of a request is sent

	// All fields are guarded by the lock of the connection.
	changed sync.Cond

	in        []byte // text to read
	at        int    // the read part of it
	held      int    // received bytes that the windows count, and that were not read
	window    h2frame.RecvWindow
	framing   framing
	left      int64 // of the declared length of the received body, or h2frame.NoContentLength
	answered  bool  // the head of the response was received
	remoteEnd bool  // the text is complete
	readErr   error

	head     []byte // text of a head that is not complete
	sending  framing
	headSent bool
	unsent   int64 // of the declared length of the body that is sent
	chunks   http1.Chunks
	send     int    // what may be sent
	method   string // of the request
	scheme   string // of the request of a client
	accept   string // the value of Sec-WebSocket-Accept that the client of an upgrade wants
	tunnel   bool   // a WebSocket
	localEnd bool   // END_STREAM was sent
	unwanted bool   // what is sent is dropped: the endpoint has answered already

	closed        bool // by its user
	gone          func()
	readLimit     time.Time
	writeLimit    time.Time
	readT, writeT *time.Timer
}

// framing is how the end of a body is told in the text.
type framing uint8

const (
	noBody framing = iota
	sized
	chunked
	raw // both directions of a WebSocket
)

func newStream(c *conn) *Stream {
	s := &Stream{c: c, window: h2frame.RecvWindow{Remaining: streamWindow}, left: h2frame.NoContentLength}
	s.changed.L = &c.mu
	return s
}

// fail ends the stream for its user. It requires the lock.
func (s *Stream) fail(err error) {
	if s.readErr == nil {
		s.readErr = err
		if s.gone != nil && !s.closed {
			go s.gone()
		}
	}
	s.changed.Broadcast()
}

// OnGone sets what is called when the peer or the connection ends the stream.
func (s *Stream) OnGone(do func()) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.gone = do; s.readErr != nil {
		go do()
	}
}

// text appends text for reads. It requires the lock.
func (s *Stream) text(parts ...string) {
	for _, p := range parts {
		s.in = append(s.in, p...)
	}
}

// Read implements net.Conn.
func (s *Stream) Read(p []byte) (int, error) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.readErr != nil && !c.client {
		return 0, s.readErr // a request that was reset needs no work
	}
	for s.at == len(s.in) {
		switch {
		case s.closed:
			return 0, net.ErrClosed
		case over(s.readLimit):
			return 0, os.ErrDeadlineExceeded
		case s.remoteEnd:
			return 0, io.EOF
		case s.readErr != nil:
			return 0, s.readErr
		}
		s.changed.Wait()
	}
	n := copy(p, s.in[s.at:])
	s.at += n
	used := min(n, s.held)
	if s.at == len(s.in) {
		used, s.at, s.in = s.held, 0, s.in[:0]
		if cap(s.in) > 64<<10 {
			s.in = nil
		}
	}
	s.release(used)
	return n, nil
}

// release opens the windows for data that was read. It requires the lock.
func (s *Stream) release(n int) {
	c := s.c
	if s.held -= n; n == 0 {
		return
	}
	if !c.client {
		c.release(n)
	}
	if by := s.window.Release(n, streamWindow/4); by > 0 && !s.remoteEnd && s.readErr == nil && !s.closed {
		c.out = h2frame.AppendWindowUpdate(c.out, s.id, by)
	}
	c.flush()
}

// onData makes data a part of the text. It requires the lock of the connection.
func (s *Stream) onData(f *http2.DataFrame, size int) error {
	data := f.Data()
	s.held += size
	if s.window.Remaining -= size; s.window.Remaining < 0 {
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeFlowControl}
	}
	if s.at > cap(s.in)/2 {
		s.in, s.at = s.in[:copy(s.in, s.in[s.at:])], 0
	}
	if s.left != h2frame.NoContentLength {
		if s.left -= int64(len(data)); s.left < 0 {
			return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol} // RFC 9113, 8.1.1
		}
	}
	switch s.framing {
	case noBody:
		if len(data) > 0 {
			return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol}
		}
	case sized, raw:
		s.in = append(s.in, data...)
	case chunked:
		s.in = appendChunk(s.in, data)
	}
	if f.StreamEnded() {
		return s.end("")
	}
	s.changed.Broadcast()
	return nil
}

// end is called at END_STREAM with the lines of the trailers. It requires the lock.
func (s *Stream) end(trailers string) error {
	switch {
	case s.left > 0:
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol}
	case s.framing == chunked:
		s.text("0\r\n", trailers, "\r\n")
	}
	s.remoteEnd = true
	if s.localEnd {
		s.c.remove(s, h2frame.EndedByPeer)
	}
	s.changed.Broadcast()
	return nil
}

// CloseWrite ends the direction of a WebSocket.
func (s *Stream) CloseWrite() error {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.tunnel || s.localEnd || s.closed {
		return nil
	}
	if err := s.data(nil, true); err != nil {
		return err
	}
	c.flush()
	return nil
}

// Close implements net.Conn.
func (s *Stream) Close() error {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	c.running--
	for _, t := range []*time.Timer{s.readT, s.writeT} {
		if t != nil {
			t.Stop()
		}
	}
	if s.id != 0 && c.streams[s.id] == s {
		code := http2.ErrCodeCancel
		if s.localEnd && !c.client {
			code = http2.ErrCodeNo // RFC 9113, 8.1: the response does not need the rest of the request
		}
		c.out = h2frame.AppendRSTStream(c.out, s.id, code)
		c.remove(s, h2frame.EndedHere)
	}
	s.release(s.held)
	s.in = nil
	s.at = 0
	s.changed.Broadcast()
	c.flush()
	c.changed.Broadcast()
	if c.leaving && c.running == 0 && len(c.streams) == 0 {
		if half, is := c.nc.(interface{ CloseWrite() error }); is && !c.writing {
			_ = half.CloseWrite() // it fails if the connection is closed
		}
	}
	return nil
}

func over(limit time.Time) bool { return !limit.IsZero() && !time.Now().Before(limit) }

// SetDeadline implements net.Conn.
func (s *Stream) SetDeadline(t time.Time) error {
	_, _ = s.SetReadDeadline(t), s.SetWriteDeadline(t) // they do not fail
	return nil
}

// SetReadDeadline implements net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.setLimit(&s.readLimit, &s.readT, t) }

// SetWriteDeadline implements net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error { return s.setLimit(&s.writeLimit, &s.writeT, t) }

func (s *Stream) setLimit(limit *time.Time, timer **time.Timer, t time.Time) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	*limit = t
	if *timer != nil {
		(*timer).Stop()
		*timer = nil
	}
	if d := time.Until(t); !t.IsZero() && d > 0 && !s.closed {
		*timer = time.AfterFunc(d, func() {
			s.c.mu.Lock()
			defer s.c.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
	return nil
}

// LocalAddr implements net.Conn.
func (s *Stream) LocalAddr() net.Addr { return s.c.nc.LocalAddr() }

// RemoteAddr implements net.Conn.
func (s *Stream) RemoteAddr() net.Addr { return s.c.nc.RemoteAddr() }
