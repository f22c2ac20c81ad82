package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	rt "k8s.io/cri-api/pkg/apis/runtime/v1"
	criclient "k8s.io/cri-client/pkg"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"anymesh.dev/anymesh/sandbox/internal/netns"
)

// Exec implements the CRI: it returns the address of the stream.
func (r *Runtime) Exec(_ context.Context, q *rt.ExecRequest) (*rt.ExecResponse, error) {
	if _, err := r.running(q.ContainerId); err != nil {
		return nil, err
	}
	return r.streams.GetExec(q)
}

// Attach implements the CRI.
func (r *Runtime) Attach(_ context.Context, q *rt.AttachRequest) (*rt.AttachResponse, error) {
	if _, err := r.running(q.ContainerId); err != nil {
		return nil, err
	}
	return r.streams.GetAttach(q)
}

// PortForward implements the CRI.
func (r *Runtime) PortForward(_ context.Context, q *rt.PortForwardRequest) (*rt.PortForwardResponse, error) {
	return r.streams.GetPortForward(q)
}

// ExecSync implements the CRI for exec probes and lifecycle hooks. After the timeout, the process is killed and the
// error is ErrCommandTimedOut, which counts as a probe failure. A process that fails results in an error with its
// exit status.
func (r *Runtime) ExecSync(ctx context.Context, id string, argv []string,
	timeout time.Duration) (stdout, stderr []byte, err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var out, errOut limited
	code, err := r.exec(ctx, id, argv, launchSpec{out: &out, err: &errOut}, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, nil, fmt.Errorf("%w: %q after %s", criclient.ErrCommandTimedOut, argv, timeout)
	}
	if err != nil {
		return nil, nil, err
	}
	if code != 0 {
		return out.Bytes(), errOut.Bytes(), utilexec.CodeExitError{
			Err: fmt.Errorf("command %q exited with %d", argv, code), Code: code,
		}
	}
	return out.Bytes(), errOut.Bytes(), nil
}

// limited keeps the first 16 MiB, the limit of the CRI for responses.
type limited struct{ bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	const most = 16 << 20
	if room := most - l.Len(); room > 0 {
		l.Buffer.Write(b[:min(len(b), room)])
	}
	return len(b), nil
}

func (r *Runtime) running(id string) (*container, error) {
	c, err := r.find(id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.state != rt.ContainerState_CONTAINER_RUNNING {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s is not running", id)
	}
	return c, nil
}

// exec runs a command in a running container and returns its exit status.
func (r *Runtime) exec(ctx context.Context, id string, argv []string, l launchSpec,
	resize <-chan remotecommand.TerminalSize) (int, error) {
	c, err := r.running(id)
	if err != nil {
		return 0, err
	}
	spec, err := r.spec(c)
	if err != nil {
		return 0, err
	}
	spec.Argv = argv
	ns := fmt.Sprintf("/proc/%d/ns/", c.proc.cmd.Process.Pid)
	if l.mounts, err = os.Open(ns + "mnt"); err != nil {
		return 0, err
	}
	defer l.mounts.Close()
	if l.pids, err = os.Open(ns + "pid"); err != nil {
		return 0, err
	}
	defer l.pids.Close()
	l.spec, l.pod = spec, c.pod
	p, err := launch(l)
	if err != nil {
		return 0, err
	}
	go func() {
		for s := range resize {
			p.resize(s.Width, s.Height)
		}
	}()
	ended := make(chan int, 1)
	go func() { ended <- p.wait() }()
	select {
	case code := <-ended:
		return code, nil
	case <-ctx.Done():
		// The negative PID also kills the child processes of a shell.
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		p.signal(syscall.SIGKILL)
		<-ended
		return 0, ctx.Err()
	}
}

// streams implements the interface that the streaming server calls.
type streams struct{ r *Runtime }

// Exec implements streaming.Runtime.
func (s streams) Exec(ctx context.Context, id string, argv []string, in io.Reader, out, errOut io.WriteCloser, tty bool,
	resize <-chan remotecommand.TerminalSize) error {
	l := launchSpec{tty: tty, stdin: in != nil, stdinOnce: true, in: in}
	if out != nil {
		l.out = out
	}
	if errOut != nil {
		l.err = errOut
	}
	code, err := s.r.exec(ctx, id, argv, l, resize)
	if err == nil && code != 0 {
		err = utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return err
}

// Attach implements streaming.Runtime.
func (s streams) Attach(ctx context.Context, id string, in io.Reader, out, errOut io.WriteCloser, _ bool,
	resize <-chan remotecommand.TerminalSize) error {
	c, err := s.r.running(id)
	if err != nil {
		return err
	}
	p := c.proc
	go func() {
		for z := range resize {
			p.resize(z.Width, z.Height)
		}
	}()
	var o, e io.Writer
	if out != nil {
		o = out
	}
	if errOut != nil {
		e = errOut
	}
	remove := p.fanout.add(o, e)
	defer remove()
	if in != nil && p.stdin != nil {
		p.feed(in)
	}
	select {
	case <-p.fanout.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// PortForward implements streaming.Runtime. It connects to the loopback interface of the Pod, so that programs that
// listen only there can be reached.
func (s streams) PortForward(ctx context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	pod, err := s.r.findSandbox(id)
	if err != nil {
		return err
	}
	defer stream.Close()
	var conn net.Conn
	dial := func() error {
		for _, host := range []string{"127.0.0.1", "::1"} {
			var d net.Dialer
			if conn, err = d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port)))); err == nil {
				return nil
			}
		}
		return err
	}
	if pod.ns == nil {
		err = dial()
	} else {
		err = netns.Do(pod.ns.Net, dial)
	}
	if err != nil {
		return fmt.Errorf("forwarding to port %d: %w", port, err)
	}
	defer conn.Close()
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(conn, stream)
		if t, ok := conn.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(stream, conn)
		done <- struct{}{}
	}()
	<-done
	return nil
}
