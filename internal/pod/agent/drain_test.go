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
	asked := make(chan string, 2)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path
		if r.URL.Path != "/leave" {
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
	if err := run("--socket", socket, "--path", "/leave"); err != nil {
		t.Error(err)
	}
	if got := <-asked; got != "POST /leave" {
		t.Errorf("asked %q", got)
	}
	if err := run("--socket", socket, "--path", "/nothing"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a path that is not there: %v", err)
	}
	if err := run("--socket", socket+".gone", "--path", "/leave"); err == nil {
		t.Error("a socket that is not there: no error")
	}
	if err := run("--path", "/leave"); err == nil {
		t.Error("no socket: no error")
	}
}
