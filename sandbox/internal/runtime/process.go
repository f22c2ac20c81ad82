package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/sandbox/internal/jail"
)

// process is the first process of a container, or a process started by exec.
type process struct {
	cmd    *exec.Cmd
	pumps  sync.WaitGroup // goroutines that copy output
	tty    *os.File       // master side of the terminal; nil without a terminal
	fanout *fanout        // attached clients; nil for exec
	stdin  *stdinHub      // nil without standard input
}

type launchSpec struct {
	spec    *jail.Spec
	pod     *sandbox
	newPIDs bool     // in a new PID namespace
	pids    *os.File // or in this PID namespace
	mounts  *os.File // mount namespace to join instead of a new one

	tty, stdin, stdinOnce bool
	logs                  *logFile // output goes to logs, or to out and err
	in                    io.Reader
	out, err              io.Writer
}

// launch starts a process that becomes the container process, and waits until it has executed the program.
func launch(l launchSpec) (*process, error) {
	p := &process{cmd: &exec.Cmd{Path: "/proc/self/exe", Args: []string{jail.Argv0}, Env: []string{}}}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	if !l.spec.TTY && !l.tty {
		p.cmd.SysProcAttr.Setsid = true
	}
	var childFiles closers // files of the child only
	defer childFiles.close()

	specR, specW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer specW.Close()
	failR, failW, err := os.Pipe()
	if err != nil {
		specR.Close()
		return nil, err
	}
	defer failR.Close()
	childFiles.add(specR, failW)
	p.cmd.ExtraFiles = []*os.File{specR, failW}
	pass := func(f *os.File) int {
		p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, f)
		return len(p.cmd.ExtraFiles) + 2
	}
	if ns := l.pod.ns; ns != nil {
		for _, f := range []*os.File{ns.Net, ns.UTS, ns.IPC} {
			l.spec.Namespaces = append(l.spec.Namespaces, pass(f))
		}
	}
	if l.mounts != nil {
		l.spec.Enter = &jail.Enter{MountFD: pass(l.mounts)}
	} else {
		p.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNS
	}
	if l.newPIDs {
		p.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWPID
	}
	if err := p.connect(l, &childFiles); err != nil {
		return nil, err
	}
	if err := startIn(p.cmd, l.pids); err != nil {
		p.closePipes()
		return nil, err
	}
	childFiles.close()
	if err := json.NewEncoder(specW).Encode(l.spec); err != nil {
		return nil, p.abandon(err)
	}
	specW.Close()
	// The descriptor is closed on exec; text before that is an error.
	if why, err := io.ReadAll(failR); err != nil || len(why) > 0 {
		return nil, p.abandon(errors.Join(errors.New(string(why)), err))
	}
	return p, nil
}

// startIn starts cmd in the PID namespace pids, if it is set. A child inherits the setting of its parent thread.
func startIn(cmd *exec.Cmd, pids *os.File) error {
	if pids == nil {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/self/ns/pid")
	if err != nil {
		return err
	}
	defer own.Close()
	if err := unix.Setns(int(pids.Fd()), unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("joining the PID namespace of the container: %w", err)
	}
	err = cmd.Start()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWPID); back != nil {
		panic(fmt.Sprintf("cannot return to the PID namespace of the node: %v", back))
	}
	return err
}

func (p *process) abandon(err error) error {
	p.signal(syscall.SIGKILL)
	p.wait()
	return err
}

// wait returns the exit status after the process has exited and its output is copied; 128+n for signal n.
func (p *process) wait() int {
	_ = p.cmd.Wait()
	if p.stdin != nil {
		p.stdin.close()
	}
	p.pumps.Wait()
	if p.tty != nil {
		p.tty.Close()
	}
	if p.fanout != nil {
		p.fanout.close()
	}
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) resize(width, height uint16) {
	if p.tty != nil && width > 0 && height > 0 {
		_ = pty.Setsize(p.tty, &pty.Winsize{Cols: width, Rows: height})
	}
}

type closers struct{ files []*os.File }

func (c *closers) add(f ...*os.File) { c.files = append(c.files, f...) }

func (c *closers) close() {
	for _, f := range c.files {
		f.Close()
	}
	c.files = nil
}
