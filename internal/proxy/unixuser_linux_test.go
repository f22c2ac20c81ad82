package proxy

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A stale socket of another user, which may not connect to it, is replaced; one that is served is not.
func TestUnixSocketOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has files of several users")
	}
	folder := t.TempDir()
	for _, f := range []string{filepath.Dir(folder), folder} {
		if err := os.Chmod(f, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(folder, "s")
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	socket.SetUnlinkOnClose(false)
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
	// asProxy calls removeStale with the rights of the user of the proxy to files.
	asProxy := func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Setfsuid(1337); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Setfsuid(0) }()
		if _, err := net.Dial("unix", name); !errors.Is(err, syscall.EACCES) {
			t.Fatal("the user may connect:", err)
		}
		if err := removeStale(t.Context(), "unix", name); err != nil {
			t.Error(err)
		}
	}
	asProxy()
	if _, err := os.Lstat(name); err != nil {
		t.Fatal("the socket of a process was removed:", err)
	}
	_ = socket.Close()
	asProxy()
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		t.Error("the stale socket was not removed:", err)
	}
}
