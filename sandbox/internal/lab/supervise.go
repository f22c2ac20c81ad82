package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// File descriptors that the supervisor passes to the inside.
const (
	lifelineFD = 3 // closed when the supervisor exits
	eventsFD   = 4
	controlFD  = 5 // listener for exec
	firstAPIFD = 6 // one listener per cluster, on the loopback interface of the host
)

// Supervise runs a lab until ctx ends, then stops it. It calls report with the progress. It fails if the lab is not
// ready within timeout or if a component exits unexpectedly. The calling goroutine is locked to its thread, because
// the kernel ends the inside with this thread.
func Supervise(ctx context.Context, lab plan.Lab, timeout time.Duration, report func(Event)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	held, err := lock(lab.Dir)
	if err != nil {
		return err
	}
	defer held.Close()
	s := State{Lab: lab, PID: os.Getpid(), Phase: Starting, Started: time.Now()}
	listeners, err := prepare(&s.Lab)
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	if err := s.write(); err != nil {
		return err
	}
	err = s.run(ctx, timeout, listeners, report)
	if err != nil {
		s.Phase, s.Message = Failed, err.Error()
		report(Event{Err: err.Error()})
	}
	return errors.Join(err, s.write())
}

// prepare creates the folders and listeners of a lab and writes the ports to the plan.
func prepare(lab *plan.Lab) ([]*os.File, error) {
	for _, d := range []string{lab.LogDir(), lab.RunDir()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	control, err := listenControl(lab.Dir)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	files := []*os.File{control}
	for i := range lab.Clusters {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			closeAll(files)
			return nil, err
		}
		lab.Clusters[i].HostPort = l.Addr().(*net.TCPAddr).Port
		f, err := l.(*net.TCPListener).File()
		l.Close()
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func (s *State) run(ctx context.Context, timeout time.Duration, listeners []*os.File, report func(Event)) error {
	logs, err := os.OpenFile(filepath.Join(s.Lab.LogDir(), "lab.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logs.Close()
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer lifeW.Close()
	eventR, eventW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer eventR.Close()
	cmd := exec.Command("/proc/self/exe", "inside", "--dir", s.Lab.Dir)
	cmd.Stdout, cmd.Stderr = logs, logs
	cmd.ExtraFiles = append([]*os.File{lifeR, eventW}, listeners...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig: syscall.SIGKILL,
		Setsid:    true, // Ctrl-C must signal only the supervisor
	}
	if s.Lab.UserNS {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	err = cmd.Start()
	lifeR.Close()
	eventW.Close()
	if err != nil {
		return fmt.Errorf("starting the lab process: %w%s", err, namespaceHint(err))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if s.Lab.UserNS {
		err = mapIDs(cmd.Process.Pid)
	}
	if err == nil {
		_, err = lifeW.Write([]byte{'g'}) // go
	}
	if err != nil {
		lifeW.Close() // it waits for the byte and would not handle a signal
	} else {
		err = s.watch(ctx, timeout, eventR, ended, report)
	}
	return errors.Join(err, stopInside(cmd.Process, ended))
}

// watch reads the events of the inside until it exits or ctx ends.
func (s *State) watch(ctx context.Context, timeout time.Duration, from *os.File, ended chan error,
	report func(Event)) error {
	events := make(chan Event)
	go func() {
		defer close(events)
		ReadEvents(from, func(e Event) { events <- e })
	}()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	waiting := "nothing happened"
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-deadline.C:
			return fmt.Errorf("not ready after %s, last step: %s; see %s", timeout, waiting, s.Lab.LogDir())
		case err := <-ended:
			ended <- err
			return fmt.Errorf("the lab process exited: %w; see %s", err, filepath.Join(s.Lab.LogDir(), "lab.log"))
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			e.After = time.Since(s.Started).Seconds()
			if e.Err != "" {
				return errors.New(e.Err)
			}
			waiting = e.Cluster + " " + e.Step
			if e.Done {
				deadline.Stop()
				s.Phase, s.ReadyIn = Ready, e.After
				if err := s.write(); err != nil {
					return err
				}
			}
			report(e)
		}
	}
}

// stopGrace limits the time to stop containers and components.
const stopGrace = 8 * time.Second

func stopInside(p *os.Process, ended chan error) error {
	_ = p.Signal(unix.SIGTERM)
	select {
	case <-ended: //nolint:errcheck // the exit status is irrelevant
		return nil
	case <-time.After(stopGrace):
	}
	_ = p.Kill()
	select {
	case <-ended: //nolint:errcheck // the exit status is irrelevant
		return nil
	case <-time.After(stopGrace):
		return errors.New("the lab process does not exit after SIGKILL")
	}
}

func namespaceHint(err error) string {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		return "\nThis machine does not allow new namespaces. Without root, check the sysctls kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns and user.max_user_namespaces."
	}
	return ""
}
