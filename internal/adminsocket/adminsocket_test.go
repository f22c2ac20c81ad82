package adminsocket

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The socket replaces the file of a process that has ended, takes POST only and known levels, and is closed when the
// context ends.
func TestServe(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin.sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	drains, levels := 0, []string{}
	actions := Actions{Drain: func() { drains++ }, SetLevel: func(level string) bool {
		levels = append(levels, level)
		return level == "debug"
	}}
	if err := Serve(ctx, socket, actions, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	send := func(method, target string) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://admin"+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	for _, c := range []struct {
		method, target string
		want           int
	}{
		{http.MethodGet, DrainPath, http.StatusMethodNotAllowed}, {http.MethodPost, DrainPath, http.StatusOK},
		{http.MethodGet, LevelPath + "?level=debug", http.StatusMethodNotAllowed},
		{http.MethodPost, LevelPath + "?level=debug", http.StatusOK},
		{http.MethodPost, LevelPath + "?level=loud", http.StatusBadRequest},
		{http.MethodPost, LevelPath, http.StatusBadRequest},
	} {
		if status, err := send(c.method, c.target); err != nil || status != c.want {
			t.Errorf("%s %s: status %d, error %v; want %d", c.method, c.target, status, err, c.want)
		}
	}
	if drains != 1 || !slices.Equal(levels, []string{"debug", "loud", ""}) {
		t.Errorf("%d drains, want 1; levels %q", drains, levels)
	}
	cancel()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := send(http.MethodPost, DrainPath); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the socket answers after the end of the context")
		}
	}
}
