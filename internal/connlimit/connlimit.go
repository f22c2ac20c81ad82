// Package connlimit limits connections before anybody is authenticated: of one address, and of all together.
//
// In: the addresses of connections. Out: which of them may stay. A listener closes the others at once, so that they
// cost neither descriptors nor memory.
package connlimit

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"anymesh.dev/anymesh/internal/ratelimit"
)

// Limits limit connections. A zero limit means no limit.
type Limits struct {
	// PerSource limits the open ones of one address. Addresses of IPv6 are limited one by one, too: a /64 is a whole node.
	PerSource int
	// PerSecond limits the average number of new ones of one address per second, Burst those beyond it.
	PerSecond float64
	Burst     int
	// Total limits those of all addresses.
	Total int
	// Exempt selects addresses that neither limit applies to, such as those of the node; nil selects none. They have the
	// limit ExemptTotal. It may change its mind: a connection keeps the limit that it was accepted with.
	Exempt      func(netip.Addr) bool
	ExemptTotal int
	// OnRefused is called for each refused connection; nil for nothing.
	OnRefused func(Reason)
}

// Reason is the limit that a connection exceeds.
type Reason string

// Reasons.
const (
	Source Reason = "source_connections"
	Rate   Reason = "source_rate"
	Total  Reason = "total_connections"
)

// MaxSources is the number of addresses whose rate is known. The least recently used one is forgotten.
const MaxSources = 4096

// Limiter counts open connections.
type Limiter struct {
	limits Limits
	rates  *ratelimit.PerSource // nil without a limit

	mu      sync.Mutex
	sources map[netip.Addr]int
	total   int
	exempt  int
}

// New returns a limiter.
func New(limits Limits) *Limiter {
	l := &Limiter{limits: limits, sources: map[netip.Addr]int{}}
	if limits.PerSecond > 0 {
		l.rates = ratelimit.New(limits.PerSecond, limits.Burst, MaxSources)
	}
	return l
}

// Acquire counts a connection. It reports false if the connection exceeds a limit. release ends the count; it may be
// called several times.
func (l *Limiter) Acquire(from net.Addr) (release func(), ok bool) {
	source := addressOf(from)
	exempt := l.limits.Exempt != nil && l.limits.Exempt(source)
	reason := l.add(source, exempt)
	if reason != "" {
		if l.limits.OnRefused != nil {
			l.limits.OnRefused(reason)
		}
		return func() {}, false
	}
	return sync.OnceFunc(func() { l.remove(source, exempt) }), true
}

// addressOf returns the address of a connection; all connections without an IP address have the same, invalid one.
func addressOf(from net.Addr) netip.Addr {
	if from == nil {
		return netip.Addr{}
	}
	at, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

func exceeded(count, limit int) bool { return limit > 0 && count >= limit }

func (l *Limiter) add(source netip.Addr, exempt bool) Reason {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case exempt:
		if exceeded(l.exempt, l.limits.ExemptTotal) {
			return Total
		}
		l.exempt++
		return ""
	case exceeded(l.sources[source], l.limits.PerSource):
		return Source
	case exceeded(l.total, l.limits.Total):
		return Total
	case l.rates != nil && !l.rates.Of(source.String()).Allow():
		return Rate
	}
	l.sources[source]++
	l.total++
	return ""
}

func (l *Limiter) remove(source netip.Addr, exempt bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if exempt {
		l.exempt--
		return
	}
	l.total--
	if l.sources[source]--; l.sources[source] == 0 {
		delete(l.sources, source)
	}
}

// ListenTCP listens on an address, such that connections cost little until they are refused: without Multipath TCP, and
// without keepalive. Servers have timeouts for idle connections, or enable it for those that they accept.
func ListenTCP(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp", address)
}

// Listen returns a listener that closes connections beyond the limits, with a reset.
func (l *Limiter) Listen(inner net.Listener) net.Listener { return &listener{inner, l} }

type listener struct {
	net.Listener
	limiter *Limiter
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		release, ok := l.limiter.Acquire(c.RemoteAddr())
		if ok {
			return &conn{c, release}, nil
		}
		Reset(c)
	}
}

// Reset closes a connection without waiting states.
func Reset(c net.Conn) {
	if tcp, is := c.(*net.TCPConn); is {
		_ = tcp.SetLinger(0) // it is lost either way
	}
	_ = c.Close() // it is lost either way
}

// conn is a counted connection.
type conn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
