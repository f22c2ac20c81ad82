package grpcserver

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/test/poll"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is a running server of a test.
type testServer struct {
	address string
	stop    func() // stops the server and waits

	mu      sync.Mutex
	refused []RefusalReason
}

func (r *testServer) refusalReasons() []RefusalReason {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]RefusalReason(nil), r.refused...)
}

// startServer serves on the listener until the test ends.
func startServer(t testing.TB, l net.Listener, o Options) *testServer {
	t.Helper()
	r := &testServer{address: l.Addr().String()}
	o.OnRefused = func(why RefusalReason) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.refused = append(r.refused, why)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := Serve(ctx, l, o); err != nil {
			t.Errorf("Serve: got error %v", err)
		}
	}()
	r.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(r.stop)
	return r
}

func listenLoopback(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// pipeListener is a listener of in-memory connections, which work with the fake clock of synctest.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial returns the client side of a new connection.
func (p *pipeListener) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// handlerFuncs is a StreamHandler made of functions.
type handlerFuncs struct {
	onMessage func(message []byte)
	onEnd     func(err error)
}

func (f handlerFuncs) OnMessage(message []byte) { f.onMessage(message) }
func (f handlerFuncs) OnEnd(err error)          { f.onEnd(err) }

// echo sends each message back, and ends the stream as the client does. It sends in its own goroutine, since the
// connection is not read during OnMessage.
func echo(s *Stream) StreamHandler {
	queue := make(chan []byte, 1<<16)
	var end error
	go func() {
		for message := range queue {
			_ = s.Send(message[:len(message)/3], nil, message[len(message)/3:]) // OnEnd follows an error
		}
		s.Finish(end)
	}()
	return handlerFuncs{
		onMessage: func(message []byte) { queue <- bytes.Clone(message) },
		onEnd: func(err error) {
			end = err
			close(queue)
		},
	}
}

// recordingHandler records the sizes of messages and the ends of a stream.
type recordingHandler struct {
	stream *Stream
	mu     sync.Mutex
	sizes  []int
	ends   []error
}

func (s *recordingHandler) OnMessage(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, len(message))
}

func (s *recordingHandler) OnEnd(err error) {
	s.mu.Lock()
	s.ends = append(s.ends, err)
	s.mu.Unlock()
	s.stream.Finish(err)
}

func (s *recordingHandler) endCodes() []codes.Code {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []codes.Code
	for _, err := range s.ends {
		all = append(all, status.Code(err))
	}
	return all
}

// recordingHandlers creates the handlers of a method and records them.
type recordingHandlers struct {
	mu       sync.Mutex
	handlers []*recordingHandler
}

func (s *recordingHandlers) open(stream *Stream) StreamHandler {
	one := &recordingHandler{stream: stream}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append(s.handlers, one)
	return one
}

func (s *recordingHandlers) all() []*recordingHandler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*recordingHandler(nil), s.handlers...)
}

var eventually = poll.Until
