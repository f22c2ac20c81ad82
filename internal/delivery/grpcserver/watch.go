package grpcserver

import (
	"sync"
	"time"

	"golang.org/x/net/http2"
)

const (
	// silence is how long a client may say nothing before it is asked whether it is there.
	silence = 30 * time.Second
	// answer is how long that may take, and lenience how many times as long while something is on its way to the client, before the question.
	answer   = 10 * time.Second
	lenience = 6
	// idle is how long a connection may have no streams, give or take a silence.
	idle = 5 * time.Minute
)

// watch closes connections that nobody is at the other end of, and those that nobody uses.
type watch struct {
	mu     sync.Mutex
	timer  *time.Timer
	ended  bool
	asked  int // how often it was looked at since the client was asked
	unused time.Duration
}

func (w *watch) begin(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(silence, func() { w.look(c) })
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
}

func (w *watch) look(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	if c.used() {
		w.unused = 0
	}
	wait := silence
	moved := c.moved.Swap(false)
	switch heard := c.heard.Swap(false); {
	case w.unused >= idle:
		_ = c.raw.SetReadDeadline(time.Now()) // whoever reads says goodbye
		return
	case heard:
		w.asked = 0
	case w.asked > 0 && (!moved || w.asked == lenience):
		_ = c.raw.Close()
		return
	case w.asked > 0 || c.ping() || !moved:
		w.asked++
		wait = answer
	}
	w.unused += wait
	w.timer.Reset(wait)
}

func (c *conn) used() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams) > 0
}

// ping asks the client for an answer, unless somebody is writing to it.
func (c *conn) ping() (asked bool) {
	if !c.writing.TryLock() {
		return false
	}
	defer c.writing.Unlock()
	_ = c.raw.SetWriteDeadline(time.Now().Add(answer))
	_, err := c.Conn.Write(append(appendFrame(nil, http2.FramePing, 0, 0, 8), make([]byte, 8)...))
	if err != nil {
		_ = c.raw.Close()
		return true
	}
	_ = c.raw.SetWriteDeadline(time.Time{})
	return true
}
