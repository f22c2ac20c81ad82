package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// child is the proxy's process. It dies with the agent, however that dies.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // of Wait, valid after done
}

func startChild(argv []string) (*child, error) {
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the signal when the starting thread ends, so that thread stays.
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
	// The only failure is that it has ended, which done says, too.
	_ = c.cmd.Process.Signal(s)
}

// result is nil for code 0. A child that died of signal n has code 128+n, as in
// a shell.
func (c *child) result() error {
	var exit *exec.ExitError
	if c.err == nil {
		return nil
	}
	if !errors.As(c.err, &exit) {
		return fmt.Errorf("agent: wait for %s: %w", c.cmd.Path, c.err)
	}
	if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return &ExitError{Code: 128 + int(st.Signal())}
	}
	return &ExitError{Code: exit.ExitCode()}
}

// phase is how far the agent has come. It only goes forward.
type phase struct {
	mu  sync.Mutex
	now int
}

const (
	starting = iota // no certificate yet
	running
	stopping
)

func (p *phase) get() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// set says whether it moved the phase.
func (p *phase) set(to int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to <= p.now {
		return false
	}
	p.now = to
	return true
}
