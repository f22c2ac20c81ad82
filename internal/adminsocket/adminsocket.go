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

// DrainPath is the path of the POST request that makes clients leave.
const DrainPath = "/drain"

// Serve serves DrainPath on the socket until the context ends, and returns as soon as it listens. It replaces the file
// of a process that has ended.
func Serve(ctx context.Context, socket string, drain func(), log *slog.Logger) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("admin socket: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+DrainPath, func(http.ResponseWriter, *http.Request) { drain() })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // it interrupts Serve
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the admin socket has failed", "error", err)
		}
	}()
	return nil
}
