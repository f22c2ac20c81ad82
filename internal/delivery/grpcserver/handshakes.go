package grpcserver

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/connlimit"
)

// handshakes limits the handshakes in progress. Clients are not authenticated before; therefore the limits are those of
// an address and of all of them, and the oldest handshake gives way.
type handshakes struct {
	limit   int // 0 means no limit
	sources *connlimit.Limiter
	freed   chan struct{}

	mu   sync.Mutex
	open []startedHandshake // oldest first
}

type startedHandshake struct {
	raw   net.Conn
	since time.Time
}

// minHandshakeTime is the time that a handshake has while others wait. It takes milliseconds.
const minHandshakeTime = 2 * time.Second

// MaxHandshakeSize limits the bytes that a client sends until its handshake is complete: a chain of certificates takes
// a few KiB.
const MaxHandshakeSize = 32 << 10

func newHandshakes(limit, perSource int) *handshakes {
	return &handshakes{
		limit: limit, freed: make(chan struct{}, 1),
		sources: connlimit.New(connlimit.Limits{PerSource: perSource, Exempt: netip.Addr.IsLoopback}),
	}
}

// admit counts the handshakes of the address of a connection, until release. If there are too many, it resets the
// connection and reports false.
func (h *handshakes) admit(raw net.Conn) (release func(), ok bool) {
	if release, ok = h.sources.Acquire(raw.RemoteAddr()); !ok {
		connlimit.Reset(raw)
	}
	return release, ok
}

// begin waits until a handshake may begin. It closes the oldest one if that takes too long, and calls cut.
func (h *handshakes) begin(ctx context.Context, raw net.Conn, cut func()) {
	for {
		wait := h.tryBegin(raw, cut)
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-h.freed:
		case <-timer.C:
		case <-ctx.Done(): // the server closes the connection
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// tryBegin returns 0 when the handshake may begin, else the time until the oldest one gives way.
func (h *handshakes) tryBegin(raw net.Conn, cut func()) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limit > 0 && len(h.open) >= h.limit {
		oldest := h.open[0]
		if wait := minHandshakeTime - time.Since(oldest.since); wait > 0 {
			return wait
		}
		_ = oldest.raw.Close() // its goroutine notices it
		h.open = slices.Delete(h.open, 0, 1)
		cut()
	}
	h.open = append(h.open, startedHandshake{raw, time.Now()})
	return 0
}

func (h *handshakes) end(raw net.Conn) {
	h.mu.Lock()
	h.open = slices.DeleteFunc(h.open, func(o startedHandshake) bool { return o.raw == raw })
	h.mu.Unlock()
	select {
	case h.freed <- struct{}{}:
	default:
	}
}
