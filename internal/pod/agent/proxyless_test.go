package agent

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"anymesh.dev/anymesh/internal/identity"
)

// TestWithoutProxy runs the agent of an application that is its own proxy: it is ready when the certificate is there,
// every user of the pod can read it and connect to the relay, and SIGTERM ends the agent.
func TestWithoutProxy(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{})
	socket := filepath.Join(p.certs, "xds.sock")
	r := p.run(t, []string{
		"--signing-url", p.signing, "--signing-name", "anymesh.test", "--token", p.dir + "/token", "--roots", p.dir + "/root.pem",
		"--cert-dir", p.certs, "--listen", p.listen, "--relay-socket", socket, "--relay-address", "127.0.0.1:1",
	})
	eventually(t, "ready", func() bool { code, _ := httpGet(t, "http://"+p.listen+"/ready"); return code == 200 })
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		info, err := os.Stat(filepath.Join(p.certs, name))
		if err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: got %v, %v; want mode 0644", name, info, err)
		}
		folder, err := filepath.EvalSymlinks(filepath.Join(p.certs, name))
		if err != nil {
			t.Fatal(err)
		}
		if info, err = os.Stat(filepath.Dir(folder)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("folder of %s: got %v, %v; want mode 0755", name, info, err)
		}
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("socket: got %v, %v; want mode 0666", info, err)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if code, _ := httpGet(t, "http://"+p.listen+"/live"); code != 200 {
		t.Errorf("liveness: status %d", code)
	}
	r.cmd.Process.Signal(syscall.SIGTERM)
	if code := r.exitCode(t); code != 0 {
		t.Errorf("exit code %d: %q", code, r.out)
	}
}
