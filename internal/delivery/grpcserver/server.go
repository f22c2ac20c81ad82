package grpcserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/delivery/socket"
)

// Options say what a server serves. A zero field is no limit, and nobody who listens.
type Options struct {
	// TLS is the server's side of TLS. Nil means none; clients have to know that the server speaks HTTP/2 then.
	TLS *tls.Config
	// Methods are keyed by their paths, "/package.Service/Method". They are called when a client opens a stream, and must not block.
	Methods map[string]func(*Stream) Call
	// Workers reads connections. Nil means one of the server's own.
	Workers *socket.WorkerPool
	// Connections bounds those that are open. One more is closed before TLS begins.
	Connections int
	// Streams bounds those of one connection. One more is refused.
	Streams int
	// MessageSize bounds messages of clients, in bytes. A larger one ends its stream before it is read.
	MessageSize int
	// FramesPerSecond and FrameBurst bound frames of a connection that ask for an answer, open or reset streams, or say nothing. One more closes
	// it. One is free for each message that the server sent.
	FramesPerSecond, FrameBurst int
	// Refused hears of connections that the server closed.
	Refused func(Refusal)
}

// Refusal is why a connection was closed.
type Refusal string

// Why connections are closed.
const (
	// Full: there are as many as Options allow.
	Full Refusal = "full"
	// Handshake: the client did not come to speak HTTP/2, over TLS where that is demanded.
	Handshake Refusal = "handshake"
	// Frames: the client sent more frames than Options allow that cost the server more than the client.
	Frames Refusal = "frames"
	// Protocol: what the client sent is not HTTP/2.
	Protocol Refusal = "protocol"
)

// Call is the server's side of one stream. Its methods are called one at a time. The first message may take as long as it needs to take in:
// it has a goroutine of its own. During all others, the connection is read no further, and is closed when that lasts for more than half a minute.
type Call interface {
	// Take takes in a message, which is valid until it returns.
	Take(message []byte)
	// End says that there will be no more: nil when the client has said all, else an error, with a gRPC status where the client broke the
	// rules. It is the last that is called, and is not called after Stream.Finish, unless the two cross. A call that ended has to be finished.
	End(err error)
}

const (
	// handshake is how long TLS and HTTP/2's first words may take.
	handshake = 20 * time.Second
	// shortest and longest are the pauses after connections that the system could not accept.
	shortest = 5 * time.Millisecond
	longest  = time.Second
)

type server struct {
	Options

	running sync.WaitGroup
	mu      sync.Mutex
	open    map[net.Conn]struct{}
	closed  bool
}

// Serve accepts connections until the context ends, then closes them all and waits until their calls have ended.
func Serve(ctx context.Context, l net.Listener, o Options) error {
	s := &server{Options: o, open: map[net.Conn]struct{}{}}
	if s.TLS != nil {
		s.TLS = forCalls(s.TLS)
	}
	if s.Workers == nil {
		s.Workers = socket.NewWorkerPool(runtime.GOMAXPROCS(0))
	}
	if s.Refused == nil {
		s.Refused = func(Refusal) {}
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // Accept says what came of it
	err := s.accept(ctx, l)
	if stop() {
		_ = l.Close() // what Accept said is what counts
	}
	s.closeAll()
	s.running.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("listener %s: %w", l.Addr(), err)
}

// forCalls is the configuration with what calls that last need.
func forCalls(config *tls.Config) *tls.Config {
	config = config.Clone()
	// Every connection proves who it is anew, and holds no key of a session that it could resume.
	config.SessionTicketsDisabled = true
	// The first hundred records would be small and written one by one, for browsers that cannot wait; here all of a message is needed.
	config.DynamicRecordSizingDisabled = true
	if !slices.Contains(config.NextProtos, http2.NextProtoTLS) {
		config.NextProtos = append(slices.Clone(config.NextProtos), http2.NextProtoTLS)
	}
	if each := config.GetConfigForClient; each != nil {
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			own, err := each(hello)
			if own != nil {
				own = forCalls(own)
			}
			return own, err
		}
	}
	return config
}

func (s *server) accept(ctx context.Context, l net.Listener) error {
	pause := shortest
	for {
		raw, err := l.Accept()
		var transient net.Error
		switch {
		case err == nil:
			pause = shortest
			s.begin(socket.Direct(raw))
			continue
		case !errors.As(err, &transient) || !transient.Temporary(): //nolint:staticcheck // as net/http does: out of descriptors is the one that counts
			return err
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longest)
		case <-ctx.Done():
			return err
		}
	}
}

// begin serves a connection in a goroutine of its own.
func (s *server) begin(raw net.Conn) {
	s.mu.Lock()
	ended := s.closed
	room := !ended && (s.Connections == 0 || len(s.open) < s.Connections)
	if room {
		s.open[raw] = struct{}{}
	}
	s.mu.Unlock()
	if !room {
		_ = raw.Close() // it is lost either way
		if !ended {
			s.Refused(Full)
		}
		return
	}
	s.running.Add(1)
	go func() {
		c, err := s.handshake(raw)
		if err != nil {
			s.Refused(Handshake)
			s.gone(raw)
			return
		}
		c.serve()
	}()
}

// gone closes a connection that is over.
func (s *server) gone(raw net.Conn) {
	_ = s.Workers.Release(raw) // it is lost either way
	s.mu.Lock()
	delete(s.open, raw)
	s.mu.Unlock()
	s.running.Done()
}

func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for raw := range s.open {
		_ = raw.Close()
	}
}

// handshake comes to speak HTTP/2 with a client.
func (s *server) handshake(raw net.Conn) (*conn, error) {
	if err := raw.SetDeadline(time.Now().Add(handshake)); err != nil {
		return nil, err
	}
	c := newConn(s, raw)
	if s.TLS != nil {
		over := tls.Server(&recordConn{Conn: raw}, s.TLS)
		if err := over.Handshake(); err != nil {
			return nil, err
		}
		if over.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
			return nil, errors.New("the client does not offer HTTP/2")
		}
		c.Conn, c.tls = over, over
	}
	if err := c.greet(); err != nil {
		return nil, err
	}
	return c, raw.SetDeadline(time.Time{})
}
