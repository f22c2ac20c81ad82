package adminsocket

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The socket replaces the file of a process that has ended, takes POST only, and is closed when the context ends.
func TestServe(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin.sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	drains := 0
	if err := Serve(ctx, socket, func() { drains++ }, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	send := func(method string) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://admin"+DrainPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	for method, want := range map[string]int{http.MethodGet: http.StatusMethodNotAllowed, http.MethodPost: http.StatusOK} {
		if status, err := send(method); err != nil || status != want {
			t.Errorf("%s: status %d, error %v; want %d", method, status, err, want)
		}
	}
	if drains != 1 {
		t.Errorf("%d drains, want 1", drains)
	}
	cancel()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := send(http.MethodPost); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the socket answers after the end of the context")
		}
	}
}
