package discovery

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

	"anymesh.dev/anymesh/internal/proxy/config"
)

// DrainPath is the path of the POST request that makes clients leave, on the socket of Options.Admin.
const DrainPath = "/drain"

// serveAdmin serves DrainPath on a Unix domain socket until the context ends. It replaces the file of a process that
// has ended.
func serveAdmin(ctx context.Context, socket string, drain func(), log *slog.Logger) error {
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

// Level returns a log level by the name that it has in configurations. It reports false for an unknown name.
func Level(name string) (level slog.Level, known bool) {
	level, known = config.Levels[name]
	return level, known
}
