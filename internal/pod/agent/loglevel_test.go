package agent

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/adminsocket"
)

// TestLogLevels checks that the proxy gets the last level once it can be reached, an equal one only after it was
// started again, and that one that it refuses is not repeated.
func TestLogLevels(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	socket := filepath.Join(t.TempDir(), "admin.sock")
	set := make(chan string, 10)
	a := &agent{Config: Config{LogLevelSocket: socket, Logger: slog.New(slog.DiscardHandler)}}
	a.proxy.Store(&child{})
	wanted, done := newLevels(), make(chan struct{})
	wanted.set("info")
	wanted.set("debug")
	go func() { defer close(done); a.setLogLevels(ctx, wanted) }()
	t.Cleanup(func() { cancel(); <-done })
	if err := adminsocket.Serve(ctx, socket, adminsocket.Actions{SetLevel: func(level string) bool {
		set <- level
		return level != "loud"
	}}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-set:
			if got != want {
				t.Fatalf("got level %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("level %q is not set", want)
		}
	}
	expect("debug")
	wanted.set("debug")
	wanted.set("loud")
	expect("loud")
	wanted.set("error")
	expect("error")
	a.proxy.Store(&child{})
	wanted.set("error")
	expect("error")
}

// TestLogLevelNeedsRelay checks that an agent without a relay, which gets no level, refuses the socket.
func TestLogLevelNeedsRelay(t *testing.T) {
	a := &agent{Config: Config{LogLevelSocket: "/x"}}
	_, err := a.startRelay(t.Context(), func(func()) {}, nil)
	if err == nil || !strings.Contains(err.Error(), "--log-level-socket requires --relay-socket") {
		t.Errorf("got error %v", err)
	}
}
