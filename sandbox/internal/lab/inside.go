package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/sandbox/internal/netns"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// insideStage marks the second execution of the inside, after its user IDs were mapped.
const insideStage = "ANYMESH_SANDBOX_STAGE"

// Inside is the first process in the namespaces of the lab. It returns when the supervisor stops it or a component
// fails.
func Inside(dir string) error {
	life := os.NewFile(lifelineFD, "lifeline")
	if os.Getenv(insideStage) == "" {
		// Wait for the byte "g" from the supervisor. In a user namespace, the process has capabilities only after it
		// is executed again with mapped IDs.
		if n, err := life.Read(make([]byte, 1)); n != 1 {
			return fmt.Errorf("the supervisor exited: %w", err)
		}
		env := append(os.Environ(), insideStage+"=2")
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return err
		}
		for fd := lifelineFD; fd < firstAPIFD+plan.MaxClusters; fd++ {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0) // most are not open
		}
		return fmt.Errorf("executing the program again: %w", syscall.Exec("/proc/self/exe", os.Args, env))
	}
	for fd := lifelineFD; fd < firstAPIFD+plan.MaxClusters; fd++ {
		unix.CloseOnExec(fd)
	}
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	go func() {
		_, _ = life.Read(make([]byte, 1))
		os.Exit(1) // the supervisor exited; the kernel ends all processes of this PID namespace
	}()
	s, err := Read(dir)
	if err != nil {
		return err
	}
	in := &inside{
		lab: s.Lab, events: &eventWriter{w: os.NewFile(eventsFD, "events")}, nodes: map[string]*netns.Set{},
		components: map[string]*component{}, waited: map[int]bool{},
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	if err := in.run(ctx); err != nil {
		in.events.send(Event{Err: err.Error()})
		return err
	}
	return nil
}

type inside struct {
	lab    plan.Lab
	events *eventWriter

	mu         sync.Mutex
	nodes      map[string]*netns.Set
	components map[string]*component // those that a user can kill, by cluster and name
	waited     map[int]bool          // children that a goroutine waits for
}

func (in *inside) run(ctx context.Context) error {
	if err := in.mounts(); err != nil {
		return err
	}
	if err := netns.Loopback(); err != nil {
		return err
	}
	if err := netns.Forwarding(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(in.lab.Name)); err != nil {
		return err
	}
	go in.reap()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running, starting sync.WaitGroup
	for i, c := range in.lab.Clusters {
		node, err := netns.NewNode()
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		in.nodes[c.Name] = node
		if err := netns.JoinNode(node.Net, c); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		listener, err := net.FileListener(os.NewFile(uintptr(firstAPIFD+i), "api"))
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		go relay(listener, net.JoinHostPort(c.Node4.String(), fmt.Sprint(plan.APIPort)))
		starting.Add(1)
		running.Go(func() {
			if err := in.cluster(ctx, c, sync.OnceFunc(starting.Done)); err != nil {
				cancel(fmt.Errorf("%s: %w", c.Name, err))
			}
		})
	}
	go in.serveControl(ctx)
	go func() {
		starting.Wait()
		if ctx.Err() == nil {
			in.events.send(Event{Done: true})
		}
	}()
	<-ctx.Done()
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// mounts makes the mount namespace private, mounts /proc for this PID namespace, and mounts the tmpfs of the lab.
func (in *inside) mounts() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if err := unix.Mount("tmpfs", in.lab.RunDir(), "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("tmpfs of the lab: %w", err)
	}
	// The kubelet, kube-proxy and nft keep locks and sockets in /run.
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("/run: %w", err)
	}
	return nil
}

// component returns the command of a component in the network namespace of a cluster, with its own log file.
func (in *inside) component(c plan.Cluster, name string) (*exec.Cmd, error) {
	logs, err := os.OpenFile(in.logPath(c, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	cmd := exec.Command("/proc/self/exe", name, "--dir", in.lab.Dir, "--cluster", c.Name)
	cmd.Stdout, cmd.Stderr = logs, logs
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS} // for the host name of the node
	return cmd, in.start(c.Name, cmd)
}

func (in *inside) logPath(c plan.Cluster, name string) string {
	return filepath.Join(in.lab.LogDir(), c.Name+"-"+name+".log")
}

// start runs cmd in the network namespace of a cluster node.
func (in *inside) start(cluster string, cmd *exec.Cmd) error {
	in.mu.Lock()
	node := in.nodes[cluster]
	in.mu.Unlock()
	return netns.Do(node.Net, func() error {
		in.mu.Lock() // the reaper must not see the child before it is registered
		defer in.mu.Unlock()
		if err := cmd.Start(); err != nil {
			return err
		}
		in.waited[cmd.Process.Pid] = true
		return nil
	})
}

// wait waits for a child started by start.
func (in *inside) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.waited, cmd.Process.Pid)
	return err
}
