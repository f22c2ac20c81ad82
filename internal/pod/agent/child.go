package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// child is the process of the proxy. The kernel kills it when the agent dies.
type child struct {
	cmd   *exec.Cmd
	began time.Time
	done  chan struct{} // closed when the process has exited
	err   error         // error of Wait; valid after done is closed
}

func startChild(argv []string) (*child, error) {
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), began: time.Now(), done: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		// The kernel sends Pdeathsig when the thread that started the process ends, so this thread must stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.err = c.cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

func (c *child) signal(s os.Signal) {
	// It only fails if the process has exited, which closes done.
	_ = c.cmd.Process.Signal(s)
}

// result returns nil for exit code 0. The code of a process that was killed by signal n is 128+n, as in a shell.
func (c *child) result() error {
	var exit *exec.ExitError
	if c.err == nil {
		return nil
	}
	if !errors.As(c.err, &exit) {
		return fmt.Errorf("agent: wait for %s: %w", c.cmd.Path, c.err)
	}
	if signal, killed := c.killedBy(); killed {
		return &ExitError{Code: 128 + int(signal)}
	}
	return &ExitError{Code: exit.ExitCode()}
}

// killedBy returns the signal that ended the process. It must have exited.
func (c *child) killedBy() (syscall.Signal, bool) {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signal(), ok && status.Signaled()
}

// phase is the lifecycle phase of the agent. It only advances.
type phase struct {
	mu      sync.Mutex
	current int
}

const (
	starting = iota // no certificate yet
	running
	stopping
)

func (p *phase) get() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// advance sets a later phase, and reports whether the phase changed.
func (p *phase) advance(to int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to <= p.current {
		return false
	}
	p.current = to
	return true
}
