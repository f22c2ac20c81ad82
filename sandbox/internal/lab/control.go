package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is a program to run in the network namespace of a cluster node, with the standard streams of the caller.
type Command struct {
	Cluster string   `json:"cluster"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	TTY     bool     `json:"tty"` // the streams are a terminal, which becomes the controlling terminal
	// Component and Action kill or start a component, instead of running a program.
	Component string `json:"component,omitempty"`
	Action    string `json:"action,omitempty"`
}

type response struct {
	Exit int    `json:"exit"`
	Err  string `json:"error,omitempty"`
}

// shortControlPath returns a path of the control socket that fits into a socket address, independent of the length of
// dir.
func shortControlPath(dir string) (path string, done func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), filepath.Base(controlPath(dir))), func() { d.Close() }, nil
}

func listenControl(dir string) (*os.File, error) {
	if err := os.RemoveAll(controlPath(dir)); err != nil {
		return nil, err
	}
	path, done, err := shortControlPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	if err := os.Chmod(controlPath(dir), 0o600); err != nil {
		return nil, err
	}
	return l.File()
}

// Exec runs a command in the lab of dir and returns its exit status. The command is stopped when ctx ends.
func Exec(ctx context.Context, dir string, c Command, stdin, stdout, stderr *os.File) (int, error) {
	path, done, err := shortControlPath(dir)
	if err != nil {
		return 0, err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	done()
	if err != nil {
		return 0, fmt.Errorf("connecting to the sandbox: %w", err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	b, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	rights := unix.UnixRights(int(stdin.Fd()), int(stdout.Fd()), int(stderr.Fd()))
	if _, _, err := conn.WriteMsgUnix(append(b, '\n'), rights, nil); err != nil {
		return 0, err
	}
	var a response
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return 0, fmt.Errorf("the sandbox exited: %w", errors.Join(ctx.Err(), err))
	}
	if a.Err != "" {
		return 0, errors.New(a.Err)
	}
	return a.Exit, nil
}

func (in *inside) serveControl(ctx context.Context) {
	l, err := net.FileListener(os.NewFile(controlFD, "control"))
	if err != nil {
		in.events.send(Event{Err: "control socket: " + err.Error()})
		return
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			code, err := in.serveExec(ctx, conn.(*net.UnixConn))
			a := response{Exit: code}
			if err != nil {
				a.Err = err.Error()
			}
			_ = json.NewEncoder(conn).Encode(a)
		}()
	}
}

const maxCommand = 1 << 20

func (in *inside) serveExec(ctx context.Context, conn *net.UnixConn) (int, error) {
	buf, oob := make([]byte, maxCommand), make([]byte, unix.CmsgSpace(3*4))
	n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return 0, err
	}
	files, err := receive(oob[:oobn])
	defer closeAll(files)
	if err != nil {
		return 0, err
	}
	for buf[n-1] != '\n' && n < maxCommand {
		more, err := conn.Read(buf[n:])
		if err != nil {
			return 0, err
		}
		n += more
	}
	var c Command
	if err := json.Unmarshal(buf[:n], &c); err != nil {
		return 0, err
	}
	cluster, err := in.lab.Cluster(c.Cluster)
	if err != nil {
		return 0, err
	}
	if c.Component != "" {
		return 0, in.act(ctx, cluster, c.Component, c.Action)
	}
	if len(c.Argv) == 0 {
		return 0, errors.New("no command")
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: c.TTY}
	if err := in.start(c.Cluster, cmd); err != nil {
		return 0, err
	}
	closeAll(files)
	left, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // the caller has disconnected
		cancel()
	}()
	defer context.AfterFunc(left, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })()
	_ = in.wait(cmd)
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

func receive(oob []byte) ([]*os.File, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) != 1 {
		return nil, fmt.Errorf("no standard streams received: %w", err)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return nil, err
	}
	var out []*os.File
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		out = append(out, os.NewFile(uintptr(fd), "stream"))
	}
	if len(out) != 3 {
		return out, errors.New("want three standard streams")
	}
	return out, nil
}
