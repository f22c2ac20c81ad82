package grpcserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/h2frame"
)

// errClosed is the error of Send on an ended stream.
var errClosed = errors.New("the stream has ended")

// Stream is one gRPC stream. Its methods are safe for concurrent use.
type Stream struct {
	conn    *conn
	id      uint32
	handler StreamHandler

	// Only used by the goroutine that reads the connection.
	partial  partialMessage
	rejected bool  // the request is answered with an error; the rest of its data is ignored
	bodyLeft int64 // rest of the declared content length, or h2frame.NoContentLength

	headersSent bool // the response headers are sent; guarded by the connection's write lock

	// Guarded by the connection's lock.
	recvWindow   h2frame.RecvWindow
	sendWindow   int  // bytes that the stream may send
	closed       bool // either side has ended the stream
	remoteClosed bool // the client has sent END_STREAM
	endNotified  bool // OnEnd is called, or will be after queued messages
	finished     bool
	firstMessage firstMessageState
	context      context.Context
	cancel       context.CancelFunc

	charged partialCharge // guarded by the lock of clients
}

// firstMessageState is the state of a stream while its first message is handled.
type firstMessageState struct {
	received, handling bool
	queued             [][]byte // messages received meanwhile; limited by the flow-control window
	queuedBytes        int      // bytes received meanwhile
	charged            int      // bytes of the messages that are charged to the client
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
func (s *Stream) startHandler(f *http2.MetaHeadersFrame, headers h2frame.Request) error {
	refuse := func(end error) error {
		s.Finish(end)
		return nil
	}
	method := s.conn.server.Methods[headers.Path]
	contentType, encoding := grpcFields(headers.Fields)
	var err error
	switch {
	case f.Truncated:
		s.conn.server.OnRefused(RefusedHeaderSize)
		return refuse(status.Errorf(codes.ResourceExhausted, "request headers have more than %d bytes",
			MaxHeaderListSize))
	case !isGRPC(contentType):
		err = s.answer(http.StatusUnsupportedMediaType, status.Newf(codes.InvalidArgument,
			"content-type %q is not that of gRPC; send application/grpc", truncated(contentType)))
	case headers.Method != http.MethodPost:
		err = s.answer(http.StatusMethodNotAllowed, status.Newf(codes.Internal,
			"method %q is not that of gRPC; send POST", truncated(headers.Method)))
	case encoding != "" && encoding != "identity":
		return refuse(status.Errorf(codes.Unimplemented, "compression %q is not supported",
			truncated(encoding)))
	case method == nil:
		return refuse(status.Errorf(codes.Unimplemented, "unknown method %s", truncated(headers.Path)))
	default:
		s.handler = method(s)
	}
	if err == nil && f.StreamEnded() {
		err = s.onEndStream()
	}
	return err
}

// grpcFields returns the fields that gRPC needs.
func grpcFields(fields []hpack.HeaderField) (contentType, encoding string) {
	for _, f := range fields {
		switch f.Name {
		case "content-type":
			contentType = f.Value
		case "grpc-encoding":
			encoding = f.Value
		}
	}
	return contentType, encoding
}

func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
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
