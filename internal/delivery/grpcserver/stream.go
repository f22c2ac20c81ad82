package grpcserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"strings"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errClosed is that of sending on a stream that either side has ended.
var errClosed = errors.New("the stream has ended")

// Stream is one call of a client. Its methods are safe for concurrent use.
type Stream struct {
	conn *conn
	id   uint32
	call Call

	// Of the goroutine that reads the connection.
	partial rest // of a message that has not arrived as a whole
	broken  bool // the client broke the rules, and what else it sends is of no interest

	begun bool // headers are sent; of whoever is writing

	// Guarded by the connection's lock.
	arrived  inflow
	credit   int  // bytes of data that the client takes
	closed   bool // either side has ended it
	said     bool // the client has said all
	told     bool // the call knows, or will as soon as it has its messages
	finished bool
	first    firstMessage
	context  context.Context
	cancel   context.CancelFunc
}

// firstMessage is what is kept of a stream while its first message is taken in.
type firstMessage struct {
	came, busy bool
	behind     [][]byte // messages that came meanwhile; the window of flow control bounds them
	unread     int      // bytes that came meanwhile
	ended      bool
	end        error
}

// TLS is the state of the connection; nil if there is no TLS.
func (s *Stream) TLS() *tls.ConnectionState {
	if s.conn.tls == nil {
		return nil
	}
	state := s.conn.tls.ConnectionState()
	return &state
}

// Conn is the connection as it was accepted. Closing it is the way to be rid of a client that does not read. It is the same for all streams of a
// connection.
func (s *Stream) Conn() net.Conn { return s.conn.raw }

// Context ends when the stream does.
func (s *Stream) Context() context.Context {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.context == nil {
		s.context, s.cancel = context.WithCancel(context.Background())
		if s.closed || s.conn.lost != nil {
			s.cancel()
		}
	}
	return s.context
}

// open begins the call that the headers ask for.
func (s *Stream) open(f *http2.MetaHeadersFrame) error {
	refuse := func(end error) error {
		s.Finish(end)
		return nil
	}
	if f.Truncated {
		return refuse(status.Errorf(codes.ResourceExhausted, "headers of more than %d bytes", headerList))
	}
	var kind, encoding string
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "content-type":
			kind = field.Value
		case "grpc-encoding":
			encoding = field.Value
		}
	}
	path := f.PseudoValue("path")
	method := s.conn.server.Methods[path]
	switch {
	case f.PseudoValue("method") != "POST" || kind != "application/grpc" && !strings.HasPrefix(kind, "application/grpc+") && !strings.HasPrefix(kind, "application/grpc;"):
		return refuse(status.Error(codes.Internal, "this is a gRPC server: POST, with content-type application/grpc"))
	case encoding != "" && encoding != "identity":
		return refuse(status.Errorf(codes.Unimplemented, "compression %q is not supported", truncated(encoding)))
	case method == nil:
		return refuse(status.Errorf(codes.Unimplemented, "there is no method %s", truncated(path)))
	}
	s.call = method(s)
	if f.StreamEnded() {
		return s.half()
	}
	return nil
}

func truncated(text string) string { return text[:min(len(text), 100)] }

// arrive takes in data; the size includes what is no part of the body.
func (s *Stream) arrive(size int, body []byte) error {
	c := s.conn
	c.mu.Lock()
	err := s.arrived.take(size)
	by := 0
	if s.first.busy {
		s.first.unread += size
	} else {
		by = s.arrived.give(size)
	}
	said := s.said
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if said {
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeStreamClosed}
	}
	if by > 0 {
		if err := c.write(appendWindowUpdate(nil, s.id, by)); err != nil {
			return err
		}
	}
	if !s.broken {
		s.cut(body)
	}
	return nil
}

// cut finds messages in data.
func (s *Stream) cut(body []byte) {
	body = s.partial.with(body)
	left := body
	for len(left) >= prefix {
		size := int(binary.BigEndian.Uint32(left[1:]))
		if left[0] != 0 {
			s.reject(status.Error(codes.Unimplemented, "a compressed message"))
			return
		}
		if most := s.conn.server.MessageSize; most > 0 && size > most {
			s.reject(status.Errorf(codes.ResourceExhausted, "a message of %d bytes, at most %d are allowed", size, most))
			return
		}
		if len(left) < prefix+size {
			break
		}
		s.deliver(left[prefix : prefix+size])
		left = left[prefix+size:]
	}
	s.partial.keep(left, body)
}

func (s *Stream) reject(err error) {
	s.broken, s.partial = true, nil
	s.end(err)
}

// deliver has a message taken in.
func (s *Stream) deliver(message []byte) {
	c := s.conn
	c.mu.Lock()
	switch {
	case s.closed:
		c.mu.Unlock()
	case !s.first.came:
		s.first.came, s.first.busy = true, true
		c.mu.Unlock()
		message = bytes.Clone(message)
		c.server.running.Go(func() { s.begin(message) })
	case s.first.busy:
		s.first.behind = append(s.first.behind, bytes.Clone(message))
		c.mu.Unlock()
	default:
		c.mu.Unlock()
		s.call.Take(message)
	}
}

// begin takes in the first message, and what came meanwhile.
func (s *Stream) begin(message []byte) {
	c := s.conn
	for {
		s.call.Take(message)
		c.mu.Lock()
		if len(s.first.behind) == 0 || s.finished {
			break
		}
		message, s.first.behind = s.first.behind[0], s.first.behind[1:]
		c.mu.Unlock()
	}
	ended, end := s.first.ended && !s.finished, s.first.end
	by, closed := s.arrived.give(s.first.unread), s.closed
	s.first = firstMessage{came: true}
	c.mu.Unlock()
	switch {
	case ended:
		s.call.End(end)
	case by > 0 && !closed:
		_ = c.write(appendWindowUpdate(nil, s.id, by)) // whoever reads notices that the connection is lost
	}
}

func (s *Stream) saidAll() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.said
}

// half takes in that the client has said all.
func (s *Stream) half() error {
	s.conn.mu.Lock()
	s.said = true
	s.conn.mu.Unlock()
	if len(s.partial) > 0 {
		s.reject(status.Error(codes.Internal, "a message that ends too early"))
		return nil
	}
	s.end(nil)
	return nil
}

// end tells the call that nothing comes any more.
func (s *Stream) end(err error) {
	c := s.conn
	c.mu.Lock()
	if s.cancel != nil && err != nil {
		s.cancel()
	}
	told := s.told || s.finished
	s.told = true
	if s.first.busy && !told {
		s.first.ended, s.first.end = true, err
	}
	wait := s.first.busy
	c.mu.Unlock()
	if !told && !wait {
		s.call.End(err)
	}
}
