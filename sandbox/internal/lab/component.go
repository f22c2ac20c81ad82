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

// component is a process of a cluster. If it ends before its time, failed hears the reason.
type component struct {
	in      *inside
	cluster plan.Cluster
	name    string
	ctx     context.Context
	failed  context.CancelCauseFunc

	mu    sync.Mutex // held while it starts or ends
	cmd   *exec.Cmd
	ended chan struct{}
	away  atomic.Bool // killed on purpose
}

// supervise starts a component.
func (in *inside) supervise(ctx context.Context, failed context.CancelCauseFunc, c plan.Cluster,
	name string) (*component, error) {
	p := &component{in: in, cluster: c, name: name, ctx: ctx, failed: failed}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p, p.start()
}

func (p *component) start() error {
	cmd, err := p.in.component(p.cluster, p.name)
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	p.away.Store(false)
	go func() {
		defer close(ended)
		err := p.in.wait(cmd)
		if p.ctx.Err() == nil && !p.away.Load() {
			log := p.in.logPath(p.cluster, p.name)
			p.failed(fmt.Errorf("%s ended: %w: %s (see %s)", p.name, err, lastLine(log), log))
		}
	}()
	return nil
}

// componentGrace is how long a component may take to end after SIGTERM.
const componentGrace = 4 * time.Second

// stop ends the component and waits.
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

// kill ends the component as a crash would; nothing else ends with it.
func (p *component) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away.Swap(true) {
		return fmt.Errorf("the %s of %s is away already", p.name, p.cluster.Name)
	}
	err := p.cmd.Process.Kill()
	<-p.ended
	return err
}

// restart starts a component that was killed.
func (p *component) restart() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.away.Load():
		return fmt.Errorf("the %s of %s runs", p.name, p.cluster.Name)
	case p.ctx.Err() != nil:
		return errors.New("the sandbox is stopping")
	}
	return p.start()
}

// What can be done to a cluster's API server.
const (
	KillAPIServer  = "kill"
	StartAPIServer = "start"
)

// apiReturn is how long a restarted API server may take to answer.
const apiReturn = 2 * time.Minute

// apiServer kills the cluster's API server, with the etcd, controllers and scheduler of its process, or starts it again
// on the same data and waits until it answers. Pods, the kubelet and kube-proxy go on.
func (in *inside) apiServer(ctx context.Context, c plan.Cluster, what string) error {
	in.mu.Lock()
	p := in.apis[c.Name]
	in.mu.Unlock()
	switch {
	case p == nil:
		return fmt.Errorf("%s has no API server yet", c.Name)
	case what == KillAPIServer:
		return p.kill()
	case what != StartAPIServer:
		return fmt.Errorf("an API server can be killed or started; %q is neither", what)
	}
	if err := p.restart(); err != nil {
		return err
	}
	check, err := newCheck(in.lab, c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiReturn)
	defer cancel()
	return poll(ctx, check.api)
}
