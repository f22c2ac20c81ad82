package httpforward

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/rawconn"
	"anymesh.dev/anymesh/internal/proxy/tracing"
)

// Handler serves requests whose destination is no HTTP cluster, or that pass through other clusters on the way.
type Handler interface {
	// Serve serves a request as a session with the cluster that was chosen. The exchange has one response. The metadata is
	// a copy.
	Serve(x *Exchange, route *object.Route, to *object.Slot[cluster.Cluster], meta *metadata.Tree)
}

// Dialer connects to endpoints.
type Dialer interface {
	// Dial connects to an endpoint of an HTTP cluster.
	Dial(ctx context.Context, c *cluster.Cluster, e *cluster.Endpoint, d metadata.Document) (net.Conn, error)
}

// Timeouts limit the phases of a connection. They are checked once a second.
type Timeouts struct {
	// Idle limits the time between requests, Head the time for a head, Stall the time without progress of a request.
	Idle, Head, Stall time.Duration
}

// DefaultTimeouts are the timeouts of listeners.
var DefaultTimeouts = Timeouts{Idle: 5 * time.Minute, Head: 10 * time.Second, Stall: 5 * time.Minute}

// Server serves the connections of one listener.
type Server struct {
	// Name is that of the listener.
	Name string
	// Rules returns the rule list of the listener, which may change.
	Rules    func() *object.Slot[object.RuleList]
	Handler  Handler
	Dialer   Dialer
	Limits   http1.Limits
	Timeouts Timeouts
	// Ended returns what is called with each request that has ended and is no session; nil if nobody asks.
	Ended func() func(*Request)
	// Tracer returns what makes spans of requests; nil if nothing does.
	Tracer func() *tracing.Tracer
	// Forwarded and TrustedHops are those of config.ListenerSpec.
	Forwarded   string
	TrustedHops int
	// Canonical makes paths and hosts canonical.
	Canonical bool
	// HTTP2 tells that connections may have HTTP/2.
	HTTP2 bool
	Stats Stats
	// RouteStats returns where the requests of routes with some labels are counted.
	RouteStats func(config.RouteMetrics) *Stats
	// Done is closed at the end of the server.
	Done <-chan struct{}

	mirrored atomic.Int64 // copies of requests under way
	clock    atomic.Int64 // seconds since the start
	draining atomic.Bool

	mu    sync.Mutex
	conns map[*conn]struct{}

	// Streams serves the connections with HTTP/2.
	Streams h2.Server
}

// Serve serves a connection until its end. The base is the metadata of the connection.
func (s *Server) Serve(nc net.Conn, base map[string]any) {
	if s.HTTP2 && h2.Chosen(nc) {
		s.serveStreams(nc, nil, base)
		return
	}
	c := &conn{s: s, client: nc, base: base}
	if raw, is := rawconn.New(nc); is {
		c.raw, c.client = raw, raw
	}
	c.tcp, _ = nc.(*net.TCPConn)
	if first := s.run(c); first != nil {
		s.serveStreams(nc, first, base)
	}
}

// serveStreams serves the streams of an HTTP/2 connection. First is what was read before.
func (s *Server) serveStreams(nc net.Conn, first []byte, base map[string]any) {
	s.Streams.Serve(nc, first, func(stream *h2.Stream) {
		c := streamConns.Get().(*conn)
		c.s, c.client, c.base, c.stream = s, stream, base, true
		c.over.Store(false)
		stream.OnGone(func() { s.gone(c, stream) })
		s.run(c)
		if !c.shared {
			c.client, c.base = nil, nil
			streamConns.Put(c)
		}
	})
}

// gone interrupts the request of a stream that has ended, unless its connection serves another one now.
func (s *Server) gone(c *conn, stream *h2.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := s.conns[c]; is && c.client == stream {
		c.interrupt()
	}
}

// streamConns are connections for streams. Those that sessions have used are not used again.
var streamConns = sync.Pool{New: func() any { return new(conn) }}

// run serves requests until the connection ends. It returns what was read if the connection has HTTP/2.
func (s *Server) run(c *conn) (first []byte) {
	s.mu.Lock()
	if s.conns == nil {
		s.conns = map[*conn]struct{}{}
	}
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		if first == nil {
			_ = c.client.Close() // all was written
		}
		c.sending.Wait()
		c.releaseInput()
	}()
	return c.serve()
}

// Run closes connections whose time is over, until the context ends. Then it closes all.
func (s *Server) Run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.each(func(c *conn) { c.interrupt() })
			s.Streams.Close()
			return
		case <-tick.C:
		}
		s.tick()
	}
}

// tick ends the connections whose phase takes too long, and requests whose clients are gone. A second has passed.
func (s *Server) tick() {
	now := s.clock.Add(1)
	s.each(func(c *conn) {
		if until := c.until.Load(); until != 0 && now > until {
			c.expire()
		}
		if c.raw != nil && c.upstream.Load() != nil && c.raw.Ended() {
			c.interrupt() // the endpoint need not finish
		}
	})
}

// Drain makes the server close connections after their current request, and idle ones at once.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.each(func(c *conn) {
		if !c.busy.Load() && !c.stream {
			c.interrupt()
		}
	})
	s.Streams.Drain()
}

// Retire asks clients to leave: HTTP/1 connections end after their next request. New connections are served, too.
func (s *Server) Retire() {
	s.draining.Store(true)
	s.Streams.Retire()
}

// Connections returns the number of open connections of clients.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) + s.Streams.Connections()
}

func (s *Server) each(do func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		do(c)
	}
}

// Stats counts what a server does.
type Stats struct {
	Requests atomic.Uint64
	// Responses counts responses by the first digit of the status; the first counts requests that were aborted.
	Responses [6]atomic.Uint64
	// Retries counts further attempts.
	Retries atomic.Uint64
	// MirrorsDropped counts copies of requests that were not sent, because too many were under way.
	MirrorsDropped atomic.Uint64
	// Latency counts requests by duration; Buckets has the upper bounds. The last one has none.
	Latency [len(Buckets) + 1]atomic.Uint64
	// Nanoseconds is the sum of all durations.
	Nanoseconds atomic.Uint64
}

// Buckets are the upper bounds of durations.
var Buckets = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

func (s *Stats) done(status int, took time.Duration) {
	s.Responses[status/100].Add(1)
	i := 0
	for i < len(Buckets) && took > Buckets[i] {
		i++
	}
	s.Latency[i].Add(1)
	s.Nanoseconds.Add(uint64(took))
}
