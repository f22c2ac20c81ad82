package dns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of questions and connections. Questions that the table answers have no limit.
const (
	// MaxQuestions limits forwarded questions in flight. A further one gets no reply.
	MaxQuestions = 1000
	// MaxConnections limits TCP connections of clients. A further one is closed.
	MaxConnections = 100
	// MaxPipelined limits forwarded questions in flight on one TCP connection. Its reads wait at this limit.
	MaxPipelined = 100
)

const (
	maxMessageSize = 65535
	acceptPause    = 50 * time.Millisecond // after a failed accept or read
	warnInterval   = time.Minute           // between warnings about failed questions
)

// Config is the configuration of a server.
type Config struct {
	// Listen are addresses with ports, for UDP and TCP each. Only loopback addresses are accepted.
	Listen []string
	// Upstreams are the nameservers of resolv.conf, tried in order. Without any, forwarded questions get SERVFAIL.
	Upstreams []netip.AddrPort
	// Search are the search domains of resolv.conf.
	Search []string
	// IPv4 and IPv6 are the families that the pod can connect with. Answers have no records of other families.
	IPv4, IPv6 bool
	// Requested is called with a name whose record is pending when a client asks for it. It must not block.
	Requested func(name string)
	Logger    *slog.Logger // nil discards
}

// Counts are numbers of questions since the start, by result.
type Counts struct {
	Answered  uint64 // from the table
	Forwarded uint64 // the client got the reply of a nameserver, whatever its response code
	Failed    uint64 // no nameserver replied, or a record stayed pending, and the client got SERVFAIL
	Dropped   uint64 // the client got no reply: over a limit, too short, a response, or not from this host
	Paused    uint64 // a TCP connection was not read, because it had MaxPipelined questions in flight
}

// Server is the DNS server of a pod.
type Server struct {
	listen    []netip.AddrPort
	upstreams []netip.AddrPort
	search    []string // lower-case, with leading dot
	ipv4      bool
	ipv6      bool
	requested func(name string)
	logger    *slog.Logger
	timing    timing

	names    atomic.Pointer[map[string]*entry]
	replaced atomic.Pointer[chan struct{}] // closed when names is replaced
	counts   struct{ answered, forwarded, failed, dropped, paused atomic.Uint64 }
	warned   atomic.Int64 // Unix time in nanoseconds of the last warning

	questions   chan struct{} // has an element for each question in flight
	connections chan struct{} // has an element for each TCP connection of a client

	mu    sync.Mutex // guards the rest
	bound bool
	udp   []*net.UDPConn
	tcp   []*net.TCPListener
	own   map[netip.Addr]bool // addresses of this host
}

// New returns a server that does not listen yet and whose table is empty.
func New(c Config) (*Server, error) {
	s := &Server{
		upstreams: slices.Clone(c.Upstreams), search: searchSuffixes(c.Search), ipv4: c.IPv4, ipv6: c.IPv6,
		logger: c.Logger, timing: defaultTiming, requested: c.Requested,
		questions: make(chan struct{}, MaxQuestions), connections: make(chan struct{}, MaxConnections),
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if len(c.Listen) == 0 {
		return nil, errors.New("DNS server: no listen address")
	}
	if !c.IPv4 && !c.IPv6 {
		return nil, errors.New("DNS server: neither IPv4 nor IPv6 is enabled")
	}
	for _, text := range c.Listen {
		address, err := netip.ParseAddrPort(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("DNS server: listen address %q: %w", text, err)
		case !address.Addr().IsLoopback():
			return nil, fmt.Errorf("DNS server: listen address %s is not a loopback address", text)
		case slices.Contains(c.Upstreams, address):
			return nil, fmt.Errorf("DNS server: %s is both a listen address and a nameserver", text)
		}
		s.listen = append(s.listen, address)
	}
	if s.requested == nil {
		s.requested = func(string) {}
	}
	s.replaced.Store(newSignal())
	s.SetNames(nil)
	return s, nil
}

// Counts returns the numbers of questions so far.
func (s *Server) Counts() Counts {
	return Counts{
		Answered: s.counts.answered.Load(), Forwarded: s.counts.forwarded.Load(),
		Failed: s.counts.failed.Load(), Dropped: s.counts.dropped.Load(),
		Paused: s.counts.paused.Load(),
	}
}

// Listen binds all sockets. Run does it too, unless it is done: a caller that calls Listen learns about a taken port
// before it continues. An error names the address, and leaves no socket open.
func (s *Server) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound {
		return nil
	}
	if err := s.bind(); err != nil {
		s.close()
		return fmt.Errorf("DNS server: %w", err) // net.OpError names network and address
	}
	s.bound = true
	return nil
}

func (s *Server) bind() error {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	s.own = make(map[netip.Addr]bool, len(own))
	for _, a := range own {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			s.own[prefix.Addr().WithZone("")] = true
		}
	}
	for _, address := range s.listen {
		u, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(address))
		if err != nil {
			return err
		}
		s.udp = append(s.udp, u)
		t, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(address))
		if err != nil {
			return err
		}
		s.tcp = append(s.tcp, t)
	}
	return nil
}

// close closes all listeners.
func (s *Server) close() {
	for _, u := range s.udp {
		_ = u.Close() // nothing is lost
	}
	for _, t := range s.tcp {
		_ = t.Close()
	}
	s.udp, s.tcp = nil, nil
}

// Run binds the sockets and serves until the context ends; then it closes all sockets and returns nil. Questions that
// are in flight at that time get no answer. A server runs once.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(); err != nil {
		return err
	}
	var serving sync.WaitGroup
	s.mu.Lock()
	for _, u := range s.udp {
		serving.Go(func() { s.serveUDP(ctx, u, &serving) })
	}
	for _, t := range s.tcp {
		serving.Go(func() { s.serveTCP(ctx, t, &serving) })
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	serving.Wait()
	return nil
}

// isLocal tells whether a client is in this pod. Redirected packets have an address of the pod as source, not a
// loopback address.
func (s *Server) isLocal(client netip.Addr) bool {
	client = client.Unmap().WithZone("")
	return client.IsLoopback() || s.own[client]
}

// warn logs that a question failed; the next ones are logged at debug level for some time.
func (s *Server) warn(q question, err error) {
	level := slog.LevelDebug
	now, last := time.Now().UnixNano(), s.warned.Load()
	if now-last >= int64(warnInterval) && s.warned.CompareAndSwap(last, now) {
		level = slog.LevelWarn
	}
	s.logger.Log(context.Background(), level, "no nameserver replied to a DNS question", "name", string(q.name),
		"nameservers", s.upstreams, "error", err)
}

// pause waits for the duration or until the context ends. It returns false if the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
