package connect

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// The log names once a socket that the user of the proxy may not connect to, and what to do.
func TestSocketOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has files of several users")
	}
	folder := t.TempDir()
	for _, f := range []string{filepath.Dir(folder), folder} {
		if err := os.Chmod(f, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(folder, "in.sock")
	socket, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c := &Connector{Log: slog.New(slog.NewTextHandler(&log, nil))}
	runtime.LockOSThread() // the thread has the rights of another user to files
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(1337); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setfsuid(0) }()
	for range 2 {
		if _, err := c.unix(t.Context(), &config.ClusterSpec{}, name); !errors.Is(err, syscall.EACCES) {
			t.Errorf("got %v, want permission denied", err)
		}
	}
	if got := log.String(); strings.Count(got, "socket="+name) != 1 || !strings.Contains(got, "mode 0666") {
		t.Errorf("got log %q", got)
	}
}
