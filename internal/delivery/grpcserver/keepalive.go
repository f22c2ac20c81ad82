package grpcserver

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
	"anymesh.dev/anymesh/internal/timerslack"
)

const (
	// pingAfter is the time without a received frame after which the server sends a PING.
	pingAfter = 30 * time.Second
	// PingTimeout is the time to wait for a frame after the PING. While messages are still written to the client, the
	// wait is repeated up to maxMissedPings times.
	PingTimeout    = 10 * time.Second
	maxMissedPings = 6
	// MaxConnectionIdle is the maximum time without open streams, with a precision of pingAfter.
	MaxConnectionIdle = 5 * time.Minute
)

// keepalive closes connections whose client does not respond, and connections without streams. It drains connections
// after their maximum age, with a precision of pingAfter.
type keepalive struct {
	mu          sync.Mutex
	timer       *time.Timer
	ended       bool
	missedPings int // waits since the PING without a received frame
	idleFor     time.Duration
	connected   time.Time
	maxAge      time.Duration // 0 if there is none, or after it
}

func (w *keepalive) start(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connected, w.maxAge = time.Now(), c.server.connectionAge()
	w.timer = time.AfterFunc(timerslack.Extend(pingAfter), func() { w.check(c) })
}

func (w *keepalive) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
}

func (w *keepalive) check(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	if c.hasStreams() {
		w.idleFor = 0
	}
	wait := pingAfter
	if w.maxAge > 0 && time.Since(w.connected) >= w.maxAge {
		w.maxAge = 0
		c.server.wg.Go(func() { c.drain(ErrMaxConnectionAge, c.server.DrainTime) })
	}
	moved := c.wroteData.Swap(false)
	switch heard := c.received.Swap(false); {
	case w.idleFor >= MaxConnectionIdle:
		c.askReader(closeIdle)
		return
	case heard:
		w.missedPings = 0
	case w.missedPings > 0 && (!moved || w.missedPings == maxMissedPings):
		c.server.OnRefused(RefusedPing)
		_ = c.raw.Close()
		return
	case w.missedPings > 0 || c.ping() || !moved:
		w.missedPings++
		wait = PingTimeout
	}
	wait = timerslack.Extend(wait)
	w.idleFor += wait
	w.timer.Reset(wait)
}

// hasStreams reports whether a stream is open that the server has not ended.
func (c *conn) hasStreams() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.streams, func(s *Stream) bool { return !s.finished })
}

// ping sends a PING, unless another goroutine is writing.
func (c *conn) ping() (asked bool) {
	if !c.writing.TryLock() {
		return false
	}
	defer c.writing.Unlock()
	_ = c.raw.SetWriteDeadline(time.Now().Add(PingTimeout))
	_, err := c.Conn.Write(append(h2frame.AppendHeader(nil, http2.FramePing, 0, 0, 8), make([]byte, 8)...))
	if err != nil {
		_ = c.raw.Close()
		return true
	}
	_ = c.raw.SetWriteDeadline(time.Time{})
	return true
}
