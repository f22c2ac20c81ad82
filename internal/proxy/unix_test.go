package proxy_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// A stale file of a unix socket is replaced; one that is served is not. Applications of all users can connect.
func TestUnixSocketFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s")
	text := "listeners: [{name: in, spec: {protocol: UnixDomainSocket, filename: " + name + "}, rules: [{action: {route: {destination: {spec: {protocol: Echo}}}}}]}]"
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if err := tryStart(t, text); err == nil {
		t.Fatal("the socket of a process was taken")
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	if err := tryStart(t, text); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the application of another user cannot connect: %v, %v", info, err)
	}
	c := dial(t, "unix", name)
	_, _ = c.Write([]byte("x"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}
