package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
)

// TestLogsFollow checks that "logs -f" prints lines immediately and ends with the container.
func TestLogsFollow(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	p := c.ready(t, ns, pod("app", app("app")))
	stream, err := c.client.CoreV1().Pods(ns).GetLogs(p.Name, &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	long := strings.Repeat("x", 5000)
	for _, line := range []string{"one", "two", long} {
		c.mustAsk(t, p, "log", "line", line)
		for lines.Scan() && lines.Text() != line {
		}
		if lines.Text() != line {
			t.Fatalf("line %.10q not received: %v", line, lines.Err())
		}
	}
	c.kubectl(t, "-n", ns, "delete", "pod", p.Name, "--wait=false")
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	// The kubelet may add a line about the deleted container.
	if !slices.Contains(rest, "stopping") {
		t.Errorf("after the end: %q", rest)
	}
}

// stream opens one stream through the API server and returns its output.
func (c *cluster) stream(ctx context.Context, p *corev1.Pod, subresource string, options any, in io.Reader,
	tty bool) (out, errOut string, err error) {
	codec := scheme.ParameterCodec
	req := c.client.CoreV1().RESTClient().Post().
		Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource(subresource)
	switch o := options.(type) {
	case *corev1.PodExecOptions:
		req = req.VersionedParams(o, codec)
	case *corev1.PodAttachOptions:
		req = req.VersionedParams(o, codec)
	}
	e, err := remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, req.URL().String())
	if err != nil {
		return "", "", err
	}
	var o, eo bytes.Buffer
	opts := remotecommand.StreamOptions{Stdin: in, Stdout: &o, Tty: tty}
	if !tty {
		opts.Stderr = &eo
	}
	err = e.StreamWithContext(ctx, opts)
	return o.String(), eo.String(), err
}

// TestExec checks streams, exit status and terminal of exec.
func TestExec(t *testing.T) {
	c := shared.clusters[0]
	p := c.ready(t, c.namespace(t), pod("app", app("app")))
	script := `read line; echo "out $line"; echo "err $line" >&2; echo "$FROM_IMAGE $(cat /proc/1/comm)"; exit 7`
	o := &corev1.PodExecOptions{Command: []string{"sh", "-c", script}, Stdin: true, Stdout: true, Stderr: true}
	out, errOut, err := c.stream(t.Context(), p, "exec", o, strings.NewReader("hello\n"), false)
	var exit utilexec.CodeExitError
	if !errors.As(err, &exit) || exit.Code != 7 {
		t.Errorf("want exit status 7: %v", err)
	}
	if out != "out hello\nyes testapp\n" || errOut != "err hello\n" {
		t.Errorf("got %q and %q", out, errOut)
	}
	o = &corev1.PodExecOptions{
		Command: []string{"sh", "-c", "tty; stty -echo; read x; echo got $x"}, Stdin: true, Stdout: true, TTY: true,
	}
	out, _, err = c.stream(t.Context(), p, "exec", o, strings.NewReader("typed\n"), true)
	if err != nil || !strings.Contains(out, "/dev/pts/") && !strings.Contains(out, "tty") ||
		!strings.Contains(out, "got typed") {
		t.Errorf("terminal: %q %v", out, err)
	}
	o = &corev1.PodExecOptions{Command: []string{"/no/such/program"}, Stdout: true}
	if _, _, err = c.stream(t.Context(), p, "exec", o, nil, false); err == nil ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing program: %v", err)
	}
}

// TestAttach checks that attach writes to standard input of a container and prints its output.
func TestAttach(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	box := shell("echo", `while read line; do echo "heard $line"; done`)
	box.Stdin, box.StdinOnce = true, true
	p := pod("echo", box)
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	c.create(t, ns, p)
	p = c.await(t, ns, p.Name, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	o := &corev1.PodAttachOptions{Stdin: true, Stdout: true, Stderr: true}
	out, _, err := c.stream(t.Context(), p, "attach", o, strings.NewReader("one\ntwo\n"), false)
	if err != nil || out != "heard one\nheard two\n" {
		t.Errorf("got %q %v", out, err)
	}
	c.await(t, ns, p.Name, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
}

// TestPortForward checks a port of a Pod that listens only on the loopback interface.
func TestPortForward(t *testing.T) {
	c := shared.clusters[1]
	box := app("app")
	box.Args = []string{"-http=127.0.0.1:8080"}
	box.ReadinessProbe = probe(corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"curl", "-sf", "http://127.0.0.1:8080/healthz"}}})
	p := c.ready(t, c.namespace(t), pod("app", box))
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		t.Fatal(err)
	}
	url := c.client.CoreV1().RESTClient().Post().
		Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	stop, ready := make(chan struct{}), make(chan struct{})
	var stopped sync.WaitGroup
	defer stopped.Wait()
	defer close(stop)
	f, err := portforward.New(dialer, []string{"0:8080"}, stop, ready, io.Discard, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	stopped.Go(func() { _ = f.ForwardPorts() })
	<-ready
	ports, err := f.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(b) != "app" {
			t.Errorf("got %q %v", b, err)
		}
	}
}

// TestKubectl checks the kubectl of the sandbox and its exit status.
func TestKubectl(t *testing.T) {
	c := shared.clusters[0]
	p := c.ready(t, c.namespace(t), pod("app", app("app")))
	if got := c.kubectl(t, "-n", p.Namespace, "exec", "app", "--", "hostname"); got != "app\n" {
		t.Errorf("got %q", got)
	}
	if got := c.kubectl(t, "version"); !strings.Contains(got, "Server Version: v1.36.3") {
		t.Errorf("got %q", got)
	}
	_, err := shared.run("kubectl", "--", "-n", p.Namespace, "exec", "app", "--", "sh", "-c", "exit 9")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 9 {
		t.Errorf("want exit status 9: %v", err)
	}
	if _, err := shared.run("kubectl", "--", "get", "no-such-thing"); err == nil ||
		!strings.Contains(err.Error(), "doesn't have a resource type") {
		t.Errorf("unknown kind: %v", err)
	}
}
