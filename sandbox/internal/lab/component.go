package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// component is a process of a cluster. It calls failed if it exits unexpectedly.
type component struct {
	in      *inside
	cluster plan.Cluster
	name    string
	ctx     context.Context
	failed  context.CancelCauseFunc

	mu     sync.Mutex // held while it starts or stops
	cmd    *exec.Cmd
	ended  chan struct{}
	killed atomic.Bool // killed by a user command
}

// supervise starts a component.
func (in *inside) supervise(ctx context.Context, failed context.CancelCauseFunc, c plan.Cluster,
	name string) (*component, error) {
	p := &component{in: in, cluster: c, name: name, ctx: ctx, failed: failed}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.start(); err != nil {
		return nil, err
	}
	if name == ControlPlane || name == DNS {
		in.mu.Lock()
		in.components[c.Name+"/"+name] = p
		in.mu.Unlock()
	}
	return p, nil
}

func (p *component) start() error {
	cmd, err := p.in.component(p.cluster, p.name)
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	p.killed.Store(false)
	go func() {
		defer close(ended)
		err := p.in.wait(cmd)
		if p.ctx.Err() == nil && !p.killed.Load() {
			log := p.in.logPath(p.cluster, p.name)
			p.failed(fmt.Errorf("%s exited: %w: %s (see %s)", p.name, err, lastLine(log), log))
		}
	}()
	return nil
}

// componentGrace is the time between SIGTERM and SIGKILL.
const componentGrace = 4 * time.Second

// stop stops the component and waits.
func (p *component) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Process.Signal(unix.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(componentGrace):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// kill kills the component with SIGKILL, without effect on other components.
func (p *component) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed.Swap(true) {
		return fmt.Errorf("the %s of %s is not running", p.name, p.cluster.Name)
	}
	err := p.cmd.Process.Kill()
	<-p.ended
	return err
}

// restart starts a killed component.
func (p *component) restart() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.killed.Load():
		return fmt.Errorf("the %s of %s is already running", p.name, p.cluster.Name)
	case p.ctx.Err() != nil:
		return errors.New("the sandbox is stopping")
	}
	return p.start()
}

// Components that a user can kill and start.
const (
	ControlPlane = "controlplane" // etcd, API server, controllers and scheduler
	DNS          = "coredns"
)

// Actions on a component.
const (
	Kill  = "kill"
	Start = "start"
)

// startTimeout limits the time until a restarted component responds.
const startTimeout = 2 * time.Minute

// act kills a component of the cluster, or restarts it and waits until it responds. Other components continue.
func (in *inside) act(ctx context.Context, c plan.Cluster, name, action string) error {
	in.mu.Lock()
	p := in.components[c.Name+"/"+name]
	in.mu.Unlock()
	switch {
	case p == nil:
		return fmt.Errorf("%s has no %s yet", c.Name, name)
	case action == Kill:
		return p.kill()
	case action != Start:
		return fmt.Errorf("unknown command %q: use kill or start", action)
	}
	if err := p.restart(); err != nil {
		return err
	}
	check, err := newCheck(in.lab, c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return poll(ctx, map[string]func(context.Context) error{ControlPlane: check.api, DNS: check.dns}[name])
}
