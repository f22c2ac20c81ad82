// Package adminsocket serves the requests of a pod's agent to a sidecar that is ours, on a Unix domain socket.
package adminsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	// DrainPath is the path of the POST request that makes clients leave.
	DrainPath = "/drain"
	// LevelPath is the path of the POST request that sets the level of the log, which is in the query: ?level=debug.
	LevelPath = "/logging"
)

// Actions are what the requests do.
type Actions struct {
	Drain func()
	// SetLevel sets the level of the log, and reports false for an unknown name. Nil if the level cannot change.
	SetLevel func(level string) (known bool)
}

// Serve serves requests on the socket until the context ends, and returns as soon as it listens. It replaces the file
// of a process that has ended.
func Serve(ctx context.Context, socket string, do Actions, log *slog.Logger) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("admin socket: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+DrainPath, func(http.ResponseWriter, *http.Request) { do.Drain() })
	if do.SetLevel != nil {
		mux.HandleFunc("POST "+LevelPath, func(w http.ResponseWriter, r *http.Request) {
			if level := r.URL.Query().Get("level"); !do.SetLevel(level) {
				http.Error(w, fmt.Sprintf("unknown level %q", level), http.StatusBadRequest)
			}
		})
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // it interrupts Serve
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the admin socket has failed", "error", err)
		}
	}()
	return nil
}
