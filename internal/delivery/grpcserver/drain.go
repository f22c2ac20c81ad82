package grpcserver

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/h2frame"
)

// Errors of streams that the server ends. Clients reconnect after them.
var (
	// ErrShutdown ends the streams of a server that shuts down.
	ErrShutdown = status.Error(codes.Unavailable, "the server is shutting down; reconnect")
	// ErrMaxConnectionAge ends the streams of a connection after MaxConnectionAge.
	ErrMaxConnectionAge = status.Error(codes.Unavailable, "the connection has reached its maximum age; reconnect")

	errIdle = errors.New("the connection has no streams")
)

const (
	// drainPingTimeout is the time to wait for the acknowledgment of drainPing. Streams that the client opens meanwhile
	// are handled.
	drainPingTimeout = 5 * time.Second
	// CloseTimeout is the time that a client has to close its connection after its streams have ended.
	CloseTimeout = 2 * time.Second
	// ageJitter is the random part of MaxConnectionAge, so that clients that connected together reconnect one by one.
	ageJitter = 0.1
)

// drainPing is the data of the PING that follows the first GOAWAY: its acknowledgment shows that the client has
// received the GOAWAY.
var drainPing = [8]byte{'d', 'r', 'a', 'i', 'n'}

// connectionAge returns MaxConnectionAge with jitter.
func (s *server) connectionAge() time.Duration {
	return time.Duration(float64(s.MaxConnectionAge) * (1 + ageJitter*(2*rand.Float64()-1)))
}

// drain ends the use of a connection: GOAWAY asks the client to open new streams on another connection (RFC 9113,
// 6.8), and after the grace period the open streams end with the reason. Only the first call has an effect.
func (c *conn) drain(reason error, grace time.Duration) {
	c.mu.Lock()
	begun := c.draining != nil || c.closeErr != nil
	if !begun {
		c.draining = reason
	}
	c.mu.Unlock()
	if begun {
		return
	}
	first := h2frame.AppendGoAway(nil, h2frame.LargestWindow, http2.ErrCodeNo) // the largest stream ID
	first = h2frame.AppendHeader(first, http2.FramePing, 0, 0, len(drainPing))
	c.writeBefore(finishTimeout, append(first, drainPing[:]...))
	c.after(min(grace, drainPingTimeout), c.endGoAway)
	c.after(grace, func() { c.askReader(endStreams) })
}

// after calls a function after some time, unless the connection is closed before.
func (c *conn) after(wait time.Duration, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closeErr == nil {
		c.timers = append(c.timers, time.AfterFunc(wait, do))
	}
}

// endGoAway sends the GOAWAY with the last stream ID that is handled.
func (c *conn) endGoAway() {
	c.mu.Lock()
	due := c.draining != nil && !c.goAwaySent
	c.goAwaySent = c.goAwaySent || due
	last := c.lastStreamID
	c.mu.Unlock()
	if due {
		c.writeBefore(finishTimeout, h2frame.AppendGoAway(nil, last, http2.ErrCodeNo))
	}
}

// writeBefore writes whole control frames, and closes the connection if that takes longer.
func (c *conn) writeBefore(timeout time.Duration, frames []byte) {
	late := time.AfterFunc(timeout, func() { _ = c.raw.Close() })
	defer late.Stop()
	_ = c.write(frames) // the reader notices a closed connection
}

// order is a task of the goroutine that reads the connection.
type order uint32

const (
	// endStreams ends all streams, since handlers are called only by the reader.
	endStreams order = 1 << iota
	// closeIdle closes a connection without streams.
	closeIdle
)

// askReader gives an order to the goroutine that reads the connection.
func (c *conn) askReader(o order) {
	c.orders.Or(uint32(o))
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.reading: // serve will see the order
	case c.watched:
		c.server.Workers.Wake(&c.readTask)
	default:
		_ = c.raw.SetReadDeadline(time.Now()) // interrupts Read
	}
}

// handleOrders handles the orders to the reader, and reports whether the connection is closed.
func (c *conn) handleOrders() (closed bool) {
	orders := order(c.orders.Swap(0))
	if orders&endStreams != 0 {
		c.endGoAway()
		c.after(CloseTimeout, func() {
			c.server.OnRefused(RefusedLateClose)
			_ = c.raw.Close()
		})
		c.mu.Lock()
		reason, left := c.draining, slices.Clone(c.streams)
		left = slices.DeleteFunc(left, func(s *Stream) bool { return s.finished })
		c.mu.Unlock()
		for _, s := range left {
			s.notifyEnd(reason)
		}
		if len(left) == 0 {
			c.shutdown(errIdle)
		}
	}
	if orders&closeIdle != 0 {
		c.server.OnRefused(RefusedIdle)
		c.shutdown(errIdle)
	}
	return c.closed
}
