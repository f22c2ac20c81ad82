package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/test/freeport"
)

// fakeVerifier accepts the token "good".
type fakeVerifier struct{}

func (fakeVerifier) Verify(_ context.Context, token string) (identity.Claims, error) {
	if token != "good" {
		return identity.Claims{}, identity.ErrDenied
	}
	return identity.Claims{Namespace: "shop", ServiceAccount: "colors", Pod: "blue-1", PodUID: "uid-1"}, nil
}

// testPod has the files of an injected pod, and a signing server.
type testPod struct {
	dir, certs, signing, listen, admin string
	ca                                 *currentCA
}

// currentCA is the authority of a mesh, which tests replace.
type currentCA struct{ atomic.Pointer[identity.CA] }

func (c *currentCA) Current() *identity.CA { return c.Load() }

func newPod(t *testing.T, token string, opts identity.HandlerOptions) *testPod {
	t.Helper()
	first, err := identity.NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	ca := &currentCA{}
	ca.Store(first)
	serving, err := first.IssueServingCertificate([]string{"anymesh.test"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", serving.TLSConfig())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(identity.NewHandler(ca, fakeVerifier{}, opts))
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	p := &testPod{dir: t.TempDir(), certs: tempMemoryDir(t), ca: ca, signing: "https://" + l.Addr().String(),
		listen: freeport.Address(t), admin: freeport.Address(t)}
	for name, text := range map[string]string{"token": token + "\n", "root.pem": string(first.Bundle().PEM())} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// tempMemoryDir returns a temporary folder in memory.
func tempMemoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "anymesh-agent-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// agentProcess is a running agent.
type agentProcess struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  []string
	done chan struct{}
}

func (p *testPod) start(t *testing.T, exitCode string, flags ...string) *agentProcess {
	t.Helper()
	args := append([]string{
		"--signing-url", p.signing, "--signing-name", "anymesh.test", "--token", p.dir + "/token", "--roots", p.dir +
			"/root.pem",
		"--cert-dir", p.certs, "--listen", p.listen, "--ready-url", "http://" + p.admin + "/ready", "--metrics-url",
		"http://" + p.admin + "/metrics",
	}, flags...)
	return p.run(t, append(args, "--", os.Args[0], p.admin, p.certs, exitCode))
}

// run starts the agent with arguments.
func (p *testPod) run(t *testing.T, args []string) *agentProcess {
	t.Helper()
	r := &agentProcess{cmd: exec.Command(os.Args[0], args...), done: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), "AGENT_TEST_ROLE=agent", "GORACE=atexit_sleep_ms=0")
	pipe, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stderr = r.cmd.Stdout
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			r.mu.Lock()
			r.out = append(r.out, lines.Text())
			r.mu.Unlock()
		}
		_ = r.cmd.Wait() // tests read ProcessState
	}()
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); <-r.done })
	return r
}

func (r *agentProcess) logged(line string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.out, func(s string) bool { return strings.Contains(s, line) })
}

func (r *agentProcess) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the agent did not exit")
	}
	return r.cmd.ProcessState.ExitCode()
}

func httpGet(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func TestAgentLifecycle(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{})
	r := p.start(t, "3", "--drain-url", "http://"+p.admin+"/drain")
	eventually(t, "the proxy starts", func() bool { return r.logged("started") })

	pair, err := tls.LoadX509KeyPair(p.certs+"/tls.crt", p.certs+"/tls.key")
	if err != nil {
		t.Fatal(err)
	}
	if peer, err := identity.PeerFromCertificate(pair.Leaf); err != nil || peer.Pod != "blue-1" {
		t.Errorf("certificate for %+v, %v", peer, err)
	}
	if code, text := httpGet(t, "http://"+p.listen+"/ready"); code != 503 || !strings.Contains(text, "not ready") {
		t.Errorf("response before the proxy is ready: %d %q", code, text)
	}
	held := make(chan int, 1) // a waiting request gets one response, when the proxy is ready
	go func() {
		code, _ := httpGet(t, "http://"+p.listen+"/ready?wait=10s")
		held <- code
	}()
	r.cmd.Process.Signal(syscall.SIGUSR1) // forwarded; makes the proxy ready
	if code := <-held; code != 200 {
		t.Errorf("a waiting readiness request got status %d", code)
	}
	eventually(t, "ready", func() bool { code, _ := httpGet(t, "http://"+p.listen+"/ready"); return code == 200 })
	if _, text := httpGet(t, "http://"+p.listen+"/metrics"); !strings.Contains(text,
		"anymesh_agent_certificate_expiry_timestamp_seconds") ||
		!strings.Contains(text, "proxy_requests_total 7") {
		t.Errorf("metrics %q", text)
	}

	r.cmd.Process.Signal(syscall.SIGTERM)
	if code := r.exitCode(t); code != 3 {
		t.Errorf("exit code %d, want 3, the code of the proxy: %q", code, r.out)
	}
	if d, s := slices.Index(r.out, "drain"), slices.Index(r.out, "terminated"); d < 0 || s < d {
		t.Errorf("drain in line %d, termination in line %d: %q", d, s, r.out)
	}
}

func TestTermination(t *testing.T) {
	t.Run("drain delay", func(t *testing.T) {
		p := newPod(t, "good", identity.HandlerOptions{})
		r := p.start(t, "0", "--drain-duration", "1h")
		eventually(t, "the proxy starts", func() bool { return r.logged("started") })
		r.cmd.Process.Signal(syscall.SIGUSR1)
		eventually(t, "ready", func() bool { code, _ := httpGet(t, "http://"+p.listen+"/ready"); return code == 200 })
		r.cmd.Process.Signal(syscall.SIGTERM)
		eventually(t, "not ready", func() bool {
			code,
				_ := httpGet(t, "http://"+p.listen+"/ready")
			return code == 503
		})
		if r.logged("terminated") {
			t.Error("the proxy was terminated without delay")
		}
		r.cmd.Process.Signal(syscall.SIGTERM)
		if code := r.exitCode(t); code != 0 || !r.logged("terminated") {
			t.Errorf("second signal: code %d, %q", code, r.out)
		}
	})
	t.Run("before the first certificate", func(t *testing.T) {
		p := newPod(t, "good", identity.HandlerOptions{})
		p.signing = "https://" + freeport.Address(t)
		r := p.start(t, "0")
		eventually(t, "a certificate is requested", func() bool { return r.logged("certificate request failed") })
		if code, text := httpGet(t, "http://"+p.listen+"/ready"); code != 503 ||
			!strings.Contains(text, "waiting for a certificate") {
			t.Errorf("ready: %d %q", code, text)
		}
		r.cmd.Process.Signal(syscall.SIGTERM)
		if code := r.exitCode(t); code != 0 || r.logged("started") {
			t.Errorf("code %d, %q", code, r.out)
		}
	})
	t.Run("a killed proxy ends the agent", func(t *testing.T) {
		p := newPod(t, "good", identity.HandlerOptions{})
		r := p.start(t, "0")
		eventually(t, "the proxy starts", func() bool { return r.logged("started") })
		syscall.Kill(r.proxyPID(t), syscall.SIGKILL)
		if code := r.exitCode(t); code != 128+9 {
			t.Errorf("code %d", code)
		}
		if !r.logged("the proxy was killed signal=killed") {
			t.Errorf("the end of the proxy is not logged: %q", r.out)
		}
	})
	t.Run("a killed proxy that ran is started again", func(t *testing.T) {
		t.Setenv("AGENT_TEST_MIN_RUN", "0s")
		p := newPod(t, "good", identity.HandlerOptions{})
		r := p.start(t, "3")
		eventually(t, "the proxy starts", func() bool { return r.logged("started") })
		killed := r.proxyPID(t)
		syscall.Kill(killed, syscall.SIGKILL)
		eventually(t, "another proxy starts", func() bool { return r.proxyPID(t) != killed })
		if _, text := httpGet(t, "http://"+p.listen+"/metrics"); !strings.Contains(text, "anymesh_agent_proxy_restarts_total 1") {
			t.Errorf("metrics %q", text)
		}
		r.cmd.Process.Signal(syscall.SIGUSR1) // forwarded; makes the proxy ready
		eventually(t, "ready", func() bool { code, _ := httpGet(t, "http://"+p.listen+"/ready"); return code == 200 })
		r.cmd.Process.Signal(syscall.SIGTERM)
		if code := r.exitCode(t); code != 3 {
			t.Errorf("exit code %d, want 3, the code of the proxy: %q", code, r.out)
		}
	})
	t.Run("a killed agent kills the proxy", func(t *testing.T) {
		p := newPod(t, "good", identity.HandlerOptions{})
		r := p.start(t, "0")
		eventually(t, "the proxy starts", func() bool { return r.logged("started") })
		pid := r.proxyPID(t)
		r.cmd.Process.Kill()
		eventually(t, "the proxy exits", func() bool {
			state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(state), ") Z ")
		})
	})
	t.Run("the token is rejected permanently", func(t *testing.T) {
		r := newPod(t, "bad", identity.HandlerOptions{}).start(t, "0")
		if code := r.exitCode(t); code != 1 || !r.logged("PermissionDenied") || r.logged("started") {
			t.Errorf("code %d, %q", code, r.out)
		}
	})
}

// proxyPID returns the process ID that the last proxy printed.
func (r *agentProcess) proxyPID(t *testing.T) (pid int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.out {
		_, _ = fmt.Sscanf(line, "started %d", &pid) // other lines leave it
	}
	if pid == 0 {
		t.Fatalf("no process ID in %q", r.out)
	}
	return pid
}
