package serverlimit

import (
	"io"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

const writeTimeout = 700 * time.Millisecond

// writeLimits are the ways to limit the time in which a client reads a response.
var writeLimits = map[string]func(*http.Server){
	"server": func(s *http.Server) { s.WriteTimeout = writeTimeout },
	"handler": func(s *http.Server) {
		next := s.Handler
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(LimitWrite(w, r, writeTimeout), r)
		})
	},
}

// A client that does not read a response in time is counted.
func TestUnread(t *testing.T) {
	t.Parallel()
	for name, limit := range writeLimits {
		for _, protocol := range []string{"http", "https"} {
			l := newLab(t, "endless, "+name, protocol, limit)
			send(l.dial(), "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
			defer l.wants(map[Reason]int{Unread: 1})
		}
		for path, window := range map[string]uint32{"/endless": 65535, "/": 0} {
			l := newLab(t, path+", "+name, "h2", limit)
			c := connect(l, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
			c.open(1, path, "", MaxReadFrameSize, true)
			c.answered(1) // it is reset
			l.hasCounted(Unread)
			c.conn.Close()
			defer l.wants(map[Reason]int{Unread: 1})
		}
	}
}

// A client with HTTP/2 that reads nothing from its connection is disconnected: its streams cannot be reset.
func TestUnreadConnection(t *testing.T) {
	t.Parallel()
	for name, limit := range writeLimits {
		l := newLab(t, name, "h2", limit, func(s *http.Server) { s.HTTP2 = HTTP2(writeTimeout) })
		c := connect(l, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
		c.framer.WriteWindowUpdate(0, 1<<30)
		c.open(1, "/endless", "", MaxReadFrameSize, true)
		c.open(3, "/endless", "", MaxReadFrameSize, true)
		defer l.wants(map[Reason]int{Unread: 1})
	}
}

// Responses that end otherwise are not counted.
func TestUnreadOtherwise(t *testing.T) {
	t.Parallel()
	for name, limit := range writeLimits {
		for _, protocol := range []string{"http", "https"} {
			l := newLab(t, "closed, "+name, protocol, limit)
			c := l.dial()
			send(c, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
				t.Fatal(err)
			}
			c.Close()
			defer l.wants(nil)

			idle := newLab(t, "idle, "+name, protocol, limit)
			idle.get(idle.dial(), "/")
			defer idle.wants(nil)
		}
		for what, end := range map[string]func(c *client){
			"reset":  func(c *client) { c.framer.WriteRSTStream(1, http2.ErrCodeCancel) },
			"closed": func(c *client) { c.conn.Close() },
			"read":   func(c *client) { c.framer.WriteWindowUpdate(1, 100); c.answered(1) },
		} {
			l := newLab(t, what+", "+name, "h2", limit)
			c := connect(l, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			c.open(1, "/", "", MaxReadFrameSize, true)
			c.hasServed(1)
			end(c)
			go io.Copy(io.Discard, c.conn)
			defer l.wants(nil) // after the idle timeout, which is longer than that of the response
		}
	}
}

// The time of a handler before its response does not count.
func TestLimitWriteBegins(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http", "h2"} {
		l := newLab(t, "slow handler", protocol, writeLimits["handler"])
		time.AfterFunc(writeTimeout+writeTimeout/2, func() { close(l.release) })
		if protocol == "http" {
			l.get(l.dial(), "/slow")
			continue
		}
		c := connect(l)
		c.open(1, "/slow", "", MaxReadFrameSize, true)
		c.answered(1)
		c.conn.Close()
		l.wants(nil)
	}
}
