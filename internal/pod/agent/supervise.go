package agent

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// minRun is how long a proxy must have run for the agent to start it again. One that is killed earlier ends the agent,
// so that the kubelet waits between restarts, and Kubernetes shows them.
var minRun = 10 * time.Second

func (a *agent) startProxy(command []string) error {
	c, err := startChild(command)
	if err != nil {
		return fmt.Errorf("agent: start %s: %w", command[0], err)
	}
	a.proxy.Store(c)
	return nil
}

// supervise forwards signals until the proxy exits for good.
func (a *agent) supervise(ctx context.Context, command []string, signals <-chan os.Signal) error {
	canceled := ctx.Done()
	for {
		c := a.proxy.Load()
		select {
		case <-c.done:
			again := a.logEnd(c)
			if !again {
				return c.result()
			}
			if err := a.startProxy(command); err != nil {
				return err
			}
			a.metrics.restarts.Inc()
		case <-canceled:
			canceled = nil
			a.stopChild(c, signals)
		case s := <-signals:
			if isStopSignal(s) {
				a.stopChild(c, signals)
				canceled = nil
				continue
			}
			c.signal(s)
		}
	}
}

// logEnd logs the end of a proxy that was not asked to terminate, and reports whether the agent starts it again: it was
// killed, for example by the kernel for want of memory, or it crashed. After an exit with a code, the container
// restarts: the proxy refuses its command line or its bootstrap configuration.
func (a *agent) logEnd(c *child) (again bool) {
	if a.phase.get() == stopping {
		return false
	}
	signal, killed := c.killedBy()
	if !killed {
		a.Logger.Error("the proxy exited", "code", c.cmd.ProcessState.ExitCode())
		return false
	}
	again = time.Since(c.began) >= minRun
	a.Logger.Error("the proxy was killed", "signal", signal.String(), "code", 128+int(signal), "restarted", again)
	return again
}

// stopChild drains the proxy and then sends SIGTERM. A second stop signal skips the wait.
func (a *agent) stopChild(child *child, signals <-chan os.Signal) {
	if !a.phase.advance(stopping) {
		child.signal(syscall.SIGTERM) // repeat the signal
		return
	}
	a.Logger.Info("terminating the proxy", "after", a.DrainDuration)
	if a.DrainURL != "" {
		if err := a.post(a.DrainURL); err != nil {
			a.Logger.Warn("proxy drain failed", "url", a.DrainURL, "error", err)
		}
	}
	wait := time.NewTimer(a.DrainDuration)
	defer wait.Stop()
	for waiting := true; waiting; {
		select {
		case <-wait.C:
			waiting = false
		case <-child.done:
			return
		case s := <-signals:
			if isStopSignal(s) {
				waiting = false
			} else {
				child.signal(s)
			}
		}
	}
	child.signal(syscall.SIGTERM)
}
