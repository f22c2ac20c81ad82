package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/test/freeport"
)

// A frozen proxy is neither ready nor live; one that is not ready yet is live.
func TestFrozenProxyIsNotLive(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{})
	status := func(path string) int {
		code, text := httpGet(t, "http://"+p.listen+path)
		if code != 200 && !strings.Contains(text, "proxy") {
			t.Errorf("%s: status %d with text %q", path, code, text)
		}
		return code
	}
	r := p.start(t, "0")
	eventually(t, "the proxy starts", func() bool { return r.logged("started") })
	if ready, live := status("/ready"), status("/live"); ready != 503 || live != 200 {
		t.Errorf("before the configuration: ready %d, live %d", ready, live)
	}
	r.cmd.Process.Signal(syscall.SIGUSR1)
	eventually(t, "ready", func() bool { return status("/ready") == 200 })
	proxy := r.proxyPID(t)
	syscall.Kill(proxy, syscall.SIGSTOP)
	eventually(t, "all threads of the proxy are stopped", func() bool { return stopped(t, proxy) })
	if ready, live := status("/ready"), status("/live"); ready != 503 || live != 503 {
		t.Errorf("frozen: ready %d, live %d", ready, live)
	}
	syscall.Kill(proxy, syscall.SIGCONT)
	if ready, live := status("/ready"), status("/live"); ready != 200 || live != 200 {
		t.Errorf("continued: ready %d, live %d", ready, live)
	}
}

// stopped reports whether all threads of a process are stopped.
func stopped(t *testing.T, pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	return !slices.ContainsFunc(threads, func(file string) bool {
		stat, err := os.ReadFile(file)
		return err == nil && !strings.Contains(string(stat), ") T ")
	})
}

// Without a control plane, the agent gets no certificate and starts no proxy. It is live.
func TestAgentWithoutControlPlaneIsLive(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{})
	p.signing = "https://" + freeport.Address(t)
	r := p.start(t, "0")
	eventually(t, "a certificate is requested", func() bool { return r.logged("certificate request failed") })
	if code, text := httpGet(t, "http://"+p.listen+"/live"); code != 200 {
		t.Errorf("status %d: %s", code, text)
	}
}
