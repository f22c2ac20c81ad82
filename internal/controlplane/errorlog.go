package controlplane

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// errorLogInterval is the time between two log lines with the same message.
const errorLogInterval = time.Minute

// ThrottleErrors returns a handler that passes a warning or an error at most once a minute for each message, with the
// number of those that it did not pass. It is for what anybody can cause: clients that disconnect, bodies that are cut
// off.
func ThrottleErrors(next slog.Handler) slog.Handler {
	return throttledErrors{next, &throttle{last: map[string]*throttledMessage{}, now: time.Now}}
}

type throttledErrors struct {
	slog.Handler
	throttle *throttle
}

// Handle implements slog.Handler.
func (t throttledErrors) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		pass, suppressed := t.throttle.pass(r.Message)
		if !pass {
			return nil
		}
		if suppressed > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("suppressed", suppressed))
		}
	}
	return t.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (t throttledErrors) WithAttrs(attrs []slog.Attr) slog.Handler {
	return throttledErrors{t.Handler.WithAttrs(attrs), t.throttle}
}

// WithGroup implements slog.Handler.
func (t throttledErrors) WithGroup(name string) slog.Handler {
	return throttledErrors{t.Handler.WithGroup(name), t.throttle}
}

// maxMessages limits the messages that are known. Those of libraries are constants: beyond it, all share one.
const maxMessages = 100

type throttle struct {
	now func() time.Time

	mu   sync.Mutex
	last map[string]*throttledMessage
}

type throttledMessage struct {
	at         time.Time
	suppressed int
}

// pass reports whether a message may be logged, and how many were not since the last one.
func (t *throttle) pass(message string) (pass bool, suppressed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.last[message]; !known && len(t.last) >= maxMessages {
		message = ""
	}
	m := t.last[message]
	if m == nil {
		m = &throttledMessage{}
		t.last[message] = m
	}
	if now := t.now(); now.Sub(m.at) >= errorLogInterval {
		suppressed = m.suppressed
		*m = throttledMessage{at: now}
		return true, suppressed
	}
	m.suppressed++
	return false, 0
}

// connectionErrors returns a logger for an HTTP server: it counts the errors of connections, such as failed handshakes,
// and logs one a minute.
func connectionErrors(to *slog.Logger, server string, counter prometheus.Counter) *log.Logger {
	limit := &throttle{last: map[string]*throttledMessage{}, now: time.Now}
	return log.New(connectionErrorWriter(func(text string) {
		counter.Inc()
		if pass, suppressed := limit.pass(""); pass {
			to.Warn("error of a connection", "server", server, "error", text, "suppressed", suppressed)
		}
	}), "", 0)
}

type connectionErrorWriter func(string)

// Write implements io.Writer.
func (w connectionErrorWriter) Write(line []byte) (int, error) {
	w(strings.TrimSpace(string(line)))
	return len(line), nil
}
