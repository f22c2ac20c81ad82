package controlplane

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/test/freeport"
)

// The connections of all servers fit into the file descriptors, and each server has some.
func TestScaleLimits(t *testing.T) {
	for _, c := range []struct{ files, drivers, discovery, total int }{
		{1 << 20, 1, xds.DefaultMaxConnections, MaxConnections},
		{65536, 2, xds.DefaultMaxConnections, MaxConnections},
		{16384, 1, 16384 - ownDescriptors - fullLimits().http(), MaxConnections},
		{4096, 1, 1920, 432}, {1024, 2, 192, 86}, {1024, 1, 384, 86}, {256, 1, 96, 21},
	} {
		got := scaleLimits(c.files, c.drivers)
		if got.discovery != c.discovery || got.total != c.total {
			t.Errorf("%d files, %d drivers: got %+v, want %+v", c.files, c.drivers, got, c)
		}
		if got.node < 1 || got.servers < 1 || got.perSource < 1 || got.perSource > got.total {
			t.Errorf("%d files: got %+v", c.files, got)
		}
		if sum := c.drivers*got.discovery + got.http(); sum > c.files-min(ownDescriptors, c.files/4) {
			t.Errorf("%d files: %d connections", c.files, sum)
		}
	}
}

// fewFilesVariable is set in the process that has few file descriptors.
const fewFilesVariable = "ANYMESH_TEST_FEW_FILES"

// fewFiles is what that process prints.
type fewFiles struct{ Webhooks, Signing, Metrics, Discovery string }

// TestProcessWithFewFiles is not a test, but a control plane for TestFewFileDescriptors.
func TestProcessWithFewFiles(t *testing.T) {
	if os.Getenv(fewFilesVariable) == "" {
		t.Skip("started by TestFewFileDescriptors")
	}
	addresses := fewFiles{Signing: freeport.Address(t)}
	r, _, _, webhooks := startWebhooksWith(t, func(cp *controlPlane) {
		cp.SigningAddress = addresses.Signing
		cp.connections.node = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }
	})
	addresses.Webhooks, addresses.Metrics = webhooks, r.MetricsAddress
	addresses.Discovery = fmt.Sprintf("127.0.0.1:%d", r.drivers[0].port())
	if err := json.NewEncoder(os.Stdout).Encode(addresses); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the end of the test
}

// With 1024 file descriptors, silent connections to all ports from many addresses stop neither probes nor webhooks.
func TestFewFileDescriptors(t *testing.T) {
	cmd := exec.Command("sh", "-c", `ulimit -n 1024 && exec "$0" -test.run '^TestProcessWithFewFiles$'`, os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), fewFilesVariable+"=1"), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	var at fewFiles
	for lines := bufio.NewScanner(stdout); at.Webhooks == "" && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "{") {
			if err := json.Unmarshal(lines.Bytes(), &at); err != nil {
				t.Fatal(err)
			}
		}
	}
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for i := range 1200 {
		from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%40))}, Timeout: time.Second}
		for _, address := range []string{at.Webhooks, at.Signing, at.Metrics, at.Discovery} {
			if c, err := from.DialContext(t.Context(), "tcp", address); err == nil {
				conns = append(conns, c)
			}
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d connections tried or open, the process has %d descriptors", len(conns), len(files))
	if len(files) > 1000 {
		t.Errorf("the process has %d descriptors", len(files))
	}
	if injected, err := createPod(reviewer(t, "127.0.0.9"), at.Webhooks, "front"); err != nil || !injected {
		t.Errorf("a pod of the API server: injected %v, error %v", injected, err)
	}
	response, err := (&http.Client{Timeout: 5 * time.Second}).Get("http://" + at.Metrics + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("readiness: status %d", response.StatusCode)
	}
}
