package agent

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestDrainPostsToSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	requests := make(chan string, 2)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Method + " " + r.URL.Path
		if r.URL.Path != "/drain" {
			w.WriteHeader(http.StatusNotFound)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })

	run := func(args ...string) error {
		c := Command()
		c.SetArgs(append([]string{"drain"}, args...))
		return c.ExecuteContext(t.Context())
	}
	if err := run("--socket", socket, "--path", "/drain"); err != nil {
		t.Error(err)
	}
	if got := <-requests; got != "POST /drain" {
		t.Errorf("request %q", got)
	}
	if err := run("--socket", socket, "--path", "/missing"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("unknown path: %v", err)
	}
	if err := run("--socket", socket+".missing", "--path", "/drain"); err == nil {
		t.Error("missing socket: no error")
	}
	if err := run("--path", "/drain"); err == nil {
		t.Error("without --socket: no error")
	}
}
