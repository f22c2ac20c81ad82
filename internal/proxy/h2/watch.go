package h2

import (
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
)

// Limits bound what a peer may use.
type Limits struct {
	// Head is the maximum size of a head in bytes.
	Head int
	// Streams is the maximum number of streams of a client at a time.
	Streams int
	// Frames and FrameBurst limit the frames that cost a client less than the proxy: how many a second, and how many at
	// once. Data that is sent permits more of them. A reset of a stream that has no response counts four times.
	Frames, FrameBurst int
	// Idle ends a connection without streams, Frame one whose current frame is not complete, Stall one whose peer takes
	// no data. A connection to an endpoint that sends nothing during Stall is asked with PING.
	Idle, Frame, Stall time.Duration
}

// DefaultLimits are those of connections.
var DefaultLimits = Limits{
	Head: 64 << 10, Streams: 250, Frames: 200, FrameBurst: 2000,
	Idle: 5 * time.Minute, Frame: 10 * time.Second, Stall: 30 * time.Second,
}

// tick is the time between checks of a connection.
const tick = time.Second

// watch checks the times of a connection. Times are numbers of ticks.
type watch struct {
	timer *time.Timer
	now   atomic.Int64
	// heard is when the last frame has begun, frame tells that one is not complete.
	heard atomic.Int64
	frame atomic.Bool
	begun int64 // when the current write has begun; guarded by the lock of the connection
	asked int64 // when PING was sent to a silent endpoint
}

// begin notes that a write begins.
func (w *watch) begin() { w.begun = w.now.Load() + 1 }

// started notes that a frame begins.
func (w *watch) started() {
	w.heard.Store(w.now.Load())
	w.frame.Store(true)
}

// observe begins to check the times.
func (c *conn) observe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(tick, c.check)
}

func (c *conn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}

func ticks(d time.Duration) int64 { return int64(d/tick) + 1 }

// check ends the connection if one of its times is over.
func (c *conn) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, l := c.now.Add(1), c.limits
	silent := now - c.heard.Load()
	idle := c.running == 0 && len(c.streams) == 0
	switch {
	case c.err != nil:
		return
	case c.begun != 0 && now-c.begun > ticks(l.Stall), c.frame.Load() && silent > ticks(l.Frame),
		!c.settings && now > ticks(l.Frame), c.asked != 0 && now-c.asked > ticks(l.Frame) && silent > ticks(l.Frame):
		c.abort()
		return
	case idle && c.leaving:
		c.abort()
		return
	case idle && silent > ticks(l.Idle):
		c.out = h2frame.AppendGoAway(c.out, c.last, http2.ErrCodeNo)
		c.leaving = true
		go c.flushAlone()
	case c.client && !idle && silent > ticks(l.Stall) && c.asked == 0:
		c.asked = now
		c.out = h2frame.AppendPing(c.out, 0, [8]byte{})
		go c.flushAlone()
	}
	if silent <= 1 {
		c.asked = 0
	}
	c.timer.Reset(tick)
}

// flushAlone writes what waits; a peer that does not read must not stop the checks.
func (c *conn) flushAlone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
}
