package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"
)

// DrainPath is the path of the POST request that makes clients leave, on the socket of Options.Admin.
const DrainPath = "/drain"

// serveAdmin serves DrainPath on a Unix domain socket until the context ends. It replaces the file of a process that
// has ended.
func (c *codebase) serveAdmin(ctx context.Context, socket string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("admin socket: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+DrainPath, func(http.ResponseWriter, *http.Request) { c.drain() })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }() // until the context ends
	return nil
}

// drain makes the scripts end connections of clients after their next response.
func (c *codebase) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	c.update()
}
