package grpcserver

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server that a test has started.
type running struct {
	address string
	stop    func() // ends it, and waits until it has

	mu      sync.Mutex
	refused []Refusal
}

func (r *running) refusals() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Refusal(nil), r.refused...)
}

// start serves on the listener until the test ends.
func start(t testing.TB, l net.Listener, o Options) *running {
	t.Helper()
	r := &running{address: l.Addr().String()}
	o.Refused = func(why Refusal) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.refused = append(r.refused, why)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := Serve(ctx, l, o); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}()
	r.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(r.stop)
	return r
}

func loopback(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// pipes is a listener of connections within the process, which work with a clock that is not real.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial is the client's end of a new connection.
func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// functions are a Call.
type functions struct {
	take func(message []byte)
	end  func(err error)
}

func (f functions) Take(message []byte) { f.take(message) }
func (f functions) End(err error)       { f.end(err) }

// echo sends back what it gets, and ends as the client does. It sends in a goroutine of its own, as the connection is not read during Take.
func echo(s *Stream) Call {
	queue := make(chan []byte, 1<<16)
	var end error
	go func() {
		for message := range queue {
			_ = s.Send(message[:len(message)/3], nil, message[len(message)/3:]) // an end comes when it fails
		}
		s.Finish(end)
	}()
	return functions{
		take: func(message []byte) { queue <- bytes.Clone(message) },
		end: func(err error) {
			end = err
			close(queue)
		},
	}
}

// sink says how its messages and its end arrived.
type sink struct {
	stream *Stream
	mu     sync.Mutex
	sizes  []int
	ends   []error
}

func (s *sink) Take(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, len(message))
}

func (s *sink) End(err error) {
	s.mu.Lock()
	s.ends = append(s.ends, err)
	s.mu.Unlock()
	s.stream.Finish(err)
}

func (s *sink) ended() []codes.Code {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []codes.Code
	for _, err := range s.ends {
		all = append(all, status.Code(err))
	}
	return all
}

// sinks makes the calls of a method, and says which there were.
type sinks struct {
	mu  sync.Mutex
	all []*sink
}

func (s *sinks) open(stream *Stream) Call {
	one := &sink{stream: stream}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
	return one
}

func (s *sinks) calls() []*sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*sink(nil), s.all...)
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
