package grpcserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/delivery/socket"
)

const (
	// HandshakeTimeout limits the TLS handshake and the exchange of connection prefaces.
	HandshakeTimeout = 20 * time.Second
	// minAcceptBackoff and maxAcceptBackoff limit the backoff after temporary errors of Accept.
	minAcceptBackoff = 5 * time.Millisecond
	maxAcceptBackoff = time.Second
)

type server struct {
	Options

	wg         sync.WaitGroup
	health     *health
	handshakes *handshakes
	clients    clients

	mu     sync.Mutex
	conns  map[net.Conn]*conn // nil until the handshake is complete
	closed bool
}

// Serve accepts connections until the context ends. Then it drains all connections: clients receive GOAWAY, their
// streams end with ErrShutdown within DrainTime, and the connections are closed.
func Serve(ctx context.Context, l net.Listener, o Options) error {
	s := &server{Options: o, conns: map[net.Conn]*conn{}, health: newHealth(o.HealthServices),
		handshakes: newHandshakes(o.MaxHandshakes, o.MaxHandshakesPerSource), clients: clients{byKey: map[string]*client{}}}
	s.Methods = map[string]func(*Stream) StreamHandler{}
	maps.Copy(s.Methods, o.Methods)
	s.Methods[healthCheck], s.Methods[healthWatch] = s.health.open(false), s.health.open(true)
	if s.TLS != nil {
		s.TLS = serverTLSConfig(s.TLS)
	}
	if s.Workers == nil {
		s.Workers = socket.NewWorkerPool(runtime.GOMAXPROCS(0))
	}
	if s.OnRefused == nil {
		s.OnRefused = func(RefusalReason) {}
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // Accept returns the error
	err := s.accept(ctx, l)
	if stop() {
		_ = l.Close() // the error of Accept is more important
	}
	if ctx.Err() != nil {
		s.drainAll()
	}
	s.closeAll()
	s.wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("listener %s: %w", l.Addr(), err)
}

// serverTLSConfig returns the configuration with the settings for long-lived streams.
func serverTLSConfig(config *tls.Config) *tls.Config {
	config = config.Clone()
	// Every connection authenticates again, and keeps no session key.
	config.SessionTicketsDisabled = true
	// Dynamic record sizing writes small records first, for browsers. Here a whole message is needed.
	config.DynamicRecordSizingDisabled = true
	if !slices.Contains(config.NextProtos, http2.NextProtoTLS) {
		config.NextProtos = append(slices.Clone(config.NextProtos), http2.NextProtoTLS)
	}
	if each := config.GetConfigForClient; each != nil {
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			own, err := each(hello)
			if own != nil {
				own = serverTLSConfig(own)
			}
			return own, err
		}
	}
	return config
}

func (s *server) accept(ctx context.Context, l net.Listener) error {
	pause := minAcceptBackoff
	for {
		raw, err := l.Accept()
		var transient net.Error
		switch {
		case err == nil:
			pause = minAcceptBackoff
			release, ok := s.handshakes.admit(raw)
			if !ok {
				s.OnRefused(RefusedMaxHandshakesPerSource)
				continue
			}
			raw = socket.Direct(raw)
			s.handshakes.begin(ctx, raw, func() { s.OnRefused(RefusedMaxHandshakes) })
			s.serveConn(raw, release)
			continue
		//nolint:staticcheck // as in net/http: too many open files is temporary
		case !errors.As(err, &transient) || !transient.Temporary():
			return err
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxAcceptBackoff)
		case <-ctx.Done():
			return err
		}
	}
}

// serveConn serves a connection in a new goroutine. It calls release after the handshake.
func (s *server) serveConn(raw net.Conn, release func()) {
	s.mu.Lock()
	ended := s.closed
	room := !ended && (s.MaxConnections == 0 || len(s.conns) < s.MaxConnections)
	if room {
		s.conns[raw] = nil
	}
	s.mu.Unlock()
	if !room {
		release()
		s.handshakes.end(raw)
		_ = raw.Close() // it is lost either way
		if !ended {
			s.OnRefused(RefusedMaxConnections)
		}
		return
	}
	s.wg.Add(1)
	go func() {
		c, err := s.handshake(raw)
		release()
		s.handshakes.end(raw)
		switch {
		case err != nil:
			s.OnRefused(RefusedHandshake)
		case !s.addConn(c):
			c.sendGoAway(http2.ErrCodeEnhanceYourCalm)
			s.OnRefused(RefusedMaxConnectionsPerClient)
		case s.established(c):
			c.serve()
			return
		default:
			s.removeConn(c)
		}
		s.connClosed(raw)
	}()
}

// established registers a connection whose handshake is complete. It reports false after shutdown.
func (s *server) established(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.conns[c.raw] = c
	}
	return !s.closed
}

// connClosed closes and forgets a connection.
func (s *server) connClosed(raw net.Conn) {
	_ = s.Workers.Release(raw) // it is lost either way
	s.mu.Lock()
	delete(s.conns, raw)
	s.mu.Unlock()
	s.wg.Done()
}

// drainAll drains all connections, and waits for the end of their streams.
func (s *server) drainAll() {
	s.health.stop()
	s.mu.Lock()
	s.closed = true
	for raw, c := range s.conns {
		if c == nil {
			_ = raw.Close() // no stream is open
			continue
		}
		s.wg.Go(func() { c.drain(ErrShutdown, time.Duration(rand.Float64()*float64(s.DrainTime))) })
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(ended)
	}()
	late := time.NewTimer(s.DrainTime + CloseTimeout)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
	}
}

func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for raw := range s.conns {
		_ = raw.Close()
	}
}

// handshake performs the TLS handshake and exchanges connection prefaces.
func (s *server) handshake(raw net.Conn) (*conn, error) {
	if err := raw.SetDeadline(time.Now().Add(HandshakeTimeout)); err != nil {
		return nil, err
	}
	c := newConn(s, raw)
	if s.TLS != nil {
		limited := &handshakeConn{Conn: raw, limit: MaxHandshakeSize}
		over := tls.Server(limited, s.TLS)
		if err := over.Handshake(); err != nil {
			return nil, err
		}
		limited.limit = 0
		if over.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
			return nil, errors.New("the client does not offer HTTP/2")
		}
		c.Conn, c.tls = over, over
	}
	if err := c.exchangePreface(); err != nil {
		return nil, err
	}
	if err := socket.SetKeepAlive(raw); err != nil {
		return nil, err
	}
	return c, raw.SetDeadline(time.Time{})
}
