package grpcserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"net/http"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errClosed is the error of Send on an ended stream.
var errClosed = errors.New("the stream has ended")

// Stream is one gRPC stream. Its methods are safe for concurrent use.
type Stream struct {
	conn    *conn
	id      uint32
	handler StreamHandler

	// Only used by the goroutine that reads the connection.
	partialMessage partialInput // incomplete message
	rejected       bool         // the request is answered with an error; the rest of its data is ignored
	bodyLeft       int          // rest of the declared content length, or noContentLength

	headersSent bool // the response headers are sent; guarded by the connection's write lock

	// Guarded by the connection's lock.
	recvWindow   recvWindow
	sendWindow   int  // bytes that the stream may send
	closed       bool // either side has ended the stream
	remoteClosed bool // the client has sent END_STREAM
	endNotified  bool // OnEnd is called, or will be after queued messages
	finished     bool
	firstMessage firstMessageState
	context      context.Context
	cancel       context.CancelFunc
}

// firstMessageState is the state of a stream while its first message is handled.
type firstMessageState struct {
	received, handling bool
	queued             [][]byte // messages received meanwhile; limited by the flow-control window
	queuedBytes        int      // bytes received meanwhile
	ended              bool
	endErr             error
}

// TLS returns the state of the TLS connection, or nil without TLS.
func (s *Stream) TLS() *tls.ConnectionState {
	if s.conn.tls == nil {
		return nil
	}
	state := s.conn.tls.ConnectionState()
	return &state
}

// Conn returns the accepted connection, which all streams of the connection share. Closing it disconnects a client
// that does not read.
func (s *Stream) Conn() net.Conn { return s.conn.raw }

// Context returns a context that is canceled when the stream ends.
func (s *Stream) Context() context.Context {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.context == nil {
		s.context, s.cancel = context.WithCancel(context.Background())
		if s.closed || s.conn.closeErr != nil {
			s.cancel()
		}
	}
	return s.context
}

// startHandler checks that the request can be handled, and creates the handler of the stream.
func (s *Stream) startHandler(f *http2.MetaHeadersFrame, headers requestHeaders) error {
	refuse := func(end error) error {
		s.Finish(end)
		return nil
	}
	method := s.conn.server.Methods[headers.path]
	var err error
	switch {
	case f.Truncated:
		return refuse(status.Errorf(codes.ResourceExhausted, "request headers have more than %d bytes",
			maxHeaderListSize))
	case !headers.isGRPC():
		err = s.answer(http.StatusUnsupportedMediaType, status.Newf(codes.InvalidArgument,
			"content-type %q is not that of gRPC; send application/grpc", truncated(headers.contentType)))
	case headers.method != http.MethodPost:
		err = s.answer(http.StatusMethodNotAllowed, status.Newf(codes.Internal,
			"method %q is not that of gRPC; send POST", truncated(headers.method)))
	case headers.encoding != "" && headers.encoding != "identity":
		return refuse(status.Errorf(codes.Unimplemented, "compression %q is not supported",
			truncated(headers.encoding)))
	case method == nil:
		return refuse(status.Errorf(codes.Unimplemented, "unknown method %s", truncated(headers.path)))
	default:
		s.handler = method(s)
	}
	if err == nil && f.StreamEnded() {
		err = s.onEndStream()
	}
	return err
}

// answer responds to a request that is not gRPC. The stream stays half-closed until the client has ended it, without
// a handler; its data is ignored.
func (s *Stream) answer(httpStatus int, end *status.Status) error {
	s.conn.mu.Lock()
	s.finished = true
	s.conn.mu.Unlock()
	s.rejected = true
	return s.conn.write(appendHTTPError(nil, s.id, httpStatus, end))
}

func truncated(text string) string { return text[:min(len(text), 100)] }

// onData handles received data. size is the length of the frame payload including padding.
func (s *Stream) onData(size int, body []byte) error {
	c := s.conn
	c.mu.Lock()
	err := s.recvWindow.receive(size)
	by := 0
	if s.firstMessage.handling {
		s.firstMessage.queuedBytes += size
	} else if !s.rejected { // the window limits data that is ignored
		by = s.recvWindow.release(size)
	}
	said := s.remoteClosed
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if said {
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeStreamClosed}
	}
	if s.bodyLeft != noContentLength {
		if s.bodyLeft -= len(body); s.bodyLeft < 0 {
			return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol} // RFC 9113, 8.1.1
		}
	}
	if by > 0 {
		if err := c.write(appendWindowUpdate(nil, s.id, by)); err != nil {
			return err
		}
	}
	if !s.rejected {
		s.splitMessages(body)
	}
	return nil
}

// splitMessages delivers the complete messages of received data, and buffers the rest.
func (s *Stream) splitMessages(body []byte) {
	body = s.partialMessage.join(body)
	left := body
	for len(left) >= messagePrefixLen {
		size := int(binary.BigEndian.Uint32(left[1:]))
		if left[0] != 0 {
			s.reject(status.Error(codes.Unimplemented, "compressed messages are not supported"))
			return
		}
		if most := s.conn.server.MaxRecvMsgSize; most > 0 && size > most {
			s.reject(status.Errorf(codes.ResourceExhausted, "message has %d bytes, at most %d are allowed", size, most))
			return
		}
		if len(left) < messagePrefixLen+size {
			break
		}
		s.deliver(left[messagePrefixLen : messagePrefixLen+size])
		left = left[messagePrefixLen+size:]
	}
	s.partialMessage.retain(left, body)
}

func (s *Stream) reject(err error) {
	s.rejected, s.partialMessage = true, nil
	s.notifyEnd(err)
}

// deliver passes a message to the handler. The first message is handled in a new goroutine.
func (s *Stream) deliver(message []byte) {
	c := s.conn
	c.mu.Lock()
	switch {
	case s.closed:
		c.mu.Unlock()
	case !s.firstMessage.received:
		s.firstMessage.received, s.firstMessage.handling = true, true
		c.mu.Unlock()
		message = bytes.Clone(message)
		c.server.wg.Go(func() { s.handleFirstMessage(message) })
	case s.firstMessage.handling:
		s.firstMessage.queued = append(s.firstMessage.queued, bytes.Clone(message))
		c.mu.Unlock()
	default:
		c.mu.Unlock()
		s.handler.OnMessage(message)
	}
}

// handleFirstMessage handles the first message and the messages queued meanwhile.
func (s *Stream) handleFirstMessage(message []byte) {
	c := s.conn
	for {
		s.handler.OnMessage(message)
		c.mu.Lock()
		if len(s.firstMessage.queued) == 0 || s.finished {
			break
		}
		message, s.firstMessage.queued = s.firstMessage.queued[0], s.firstMessage.queued[1:]
		c.mu.Unlock()
	}
	ended, end := s.firstMessage.ended && !s.finished, s.firstMessage.endErr
	by, closed := s.recvWindow.release(s.firstMessage.queuedBytes), s.closed
	s.firstMessage = firstMessageState{received: true}
	c.mu.Unlock()
	switch {
	case ended:
		s.handler.OnEnd(end)
	case by > 0 && !closed:
		_ = c.write(appendWindowUpdate(nil, s.id, by)) // the reader notices a closed connection
	}
}

func (s *Stream) isRemoteClosed() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.remoteClosed
}

// onEndStream handles END_STREAM.
func (s *Stream) onEndStream() error {
	if s.bodyLeft > 0 {
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol} // RFC 9113, 8.1.1
	}
	s.conn.mu.Lock()
	s.remoteClosed = true
	if s.finished {
		s.conn.removeStreamLocked(s.id, endedByClient)
	}
	s.conn.mu.Unlock()
	if len(s.partialMessage) > 0 {
		s.reject(status.Error(codes.Internal, "the stream ended within a message"))
		return nil
	}
	s.notifyEnd(nil)
	return nil
}

// notifyEnd calls OnEnd once, after the queued messages.
func (s *Stream) notifyEnd(err error) {
	c := s.conn
	c.mu.Lock()
	if s.cancel != nil && err != nil {
		s.cancel()
	}
	told := s.endNotified || s.finished
	s.endNotified = true
	if s.firstMessage.handling && !told {
		s.firstMessage.ended, s.firstMessage.endErr = true, err
	}
	wait := s.firstMessage.handling
	c.mu.Unlock()
	if !told && !wait {
		s.handler.OnEnd(err)
	}
}
