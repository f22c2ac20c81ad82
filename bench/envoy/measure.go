package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/model"
)

// shiftTimeout limits a shift, pause is the time between two of them.
const (
	shiftTimeout = 30 * time.Second
	pause        = 50 * time.Millisecond
)

// bench is a control plane with its sidecars.
type bench struct {
	options
	mesh    *mesh
	proxies []*proxy
	clients []*client
	target  int // of the service
}

func measure(ctx context.Context, o options) (result, error) {
	r := result{Envoy: filepath.Base(o.envoy), Egress: o.egress, Services: o.services, Sidecars: o.sidecars, Shifts: o.shifts}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bench{options: o}
	if err := b.start(ctx); err != nil {
		return r, err
	}
	if err := b.shiftIdle(ctx, &r); err != nil {
		return r, err
	}
	if err := b.shiftUnderLoad(ctx, &r); err != nil {
		return r, err
	}
	return r, b.readMetrics(ctx, &r)
}

// start starts the control plane and the pods.
func (b *bench) start(ctx context.Context) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &os.PathError{Op: "make mounts private", Path: "/", Err: err}
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return &os.PathError{Op: "mount", Path: "/proc", Err: err}
	}
	if err := errors.Join(createBridge(), serveTargets()); err != nil {
		return err
	}
	b.mesh = newMesh(b.options)
	l, err := net.Listen("tcp4", bridgeAddress+":0")
	if err != nil {
		return err
	}
	go b.mesh.serve(ctx, l)
	for i := range b.sidecars {
		n, err := createPod(i)
		if err != nil {
			return err
		}
		key := model.Key{Mesh: meshName, Name: clientName(i) + "_" + namespace}
		view, ok := b.mesh.engine.View(key)
		if !ok {
			return fmt.Errorf("workload %s does not exist", key)
		}
		p, err := startProxy(ctx, b.envoy, n, view.Workload, l.Addr().(*net.TCPAddr))
		if err != nil {
			return fmt.Errorf("sidecar %d: %w", i, err)
		}
		b.proxies, b.clients = append(b.proxies, p), append(b.clients, newClient(n))
	}
	progress("%d sidecars with %d services are ready", b.sidecars, b.services)
	return nil
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "  "+format+"\n", args...) }

// shift moves the service to its other target. It returns the time of the change and of the last ACK.
func (b *bench) shift(ctx context.Context) (begun, acked time.Time, err error) {
	b.target = 1 - b.target
	b.mesh.acks.await(b.sidecars)
	begun = time.Now()
	b.mesh.route(0, b.target)
	b.mesh.engine.Sync()
	err = poll(ctx, "ACKs", func() (done bool, err error) {
		acked, done, err = b.mesh.acks.done()
		return done, err
	})
	return begun, acked, err
}

// poll waits until a condition holds.
func poll(ctx context.Context, what string, holds func() (bool, error)) error {
	limit := time.After(shiftTimeout)
	for {
		if done, err := holds(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return fmt.Errorf("no %s within %s", what, shiftTimeout)
		case <-time.After(time.Millisecond):
		}
	}
}

// shiftIdle measures the CPU time of the Envoys, less that of the same time without shifts.
func (b *bench) shiftIdle(ctx context.Context, r *result) error {
	before, err := b.cpu()
	if err != nil {
		return err
	}
	begun := time.Now()
	for range b.shifts {
		if _, _, err := b.shift(ctx); err != nil {
			return err
		}
		wait(ctx, pause)
	}
	after, err := b.cpu()
	if err != nil {
		return err
	}
	wait(ctx, time.Since(begun))
	idle, err := b.cpu()
	if err != nil {
		return err
	}
	r.CPU = (2*after - before - idle) / float64(b.shifts*b.sidecars)
	for _, p := range b.proxies {
		used, err := p.memory()
		if err != nil {
			return err
		}
		r.Memory += used / float64(len(b.proxies))
	}
	progress("%d shifts without requests", b.shifts)
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// cpu returns the CPU time of all Envoys in milliseconds.
func (b *bench) cpu() (total float64, err error) {
	for _, p := range b.proxies {
		used, err := p.cpu()
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// shiftUnderLoad measures the latency of shifts while clients send requests.
func (b *bench) shiftUnderLoad(ctx context.Context, r *result) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() {
		stop()
		running.Wait()
	}()
	for _, c := range b.clients {
		running.Go(func() { c.run(ctx, b.rate) })
	}
	if _, err := b.effects(ctx, time.Now()); err != nil {
		return err
	}
	var acks, effects []float64
	for range b.shifts {
		begun, acked, err := b.shift(ctx)
		if err != nil {
			return err
		}
		acks = append(acks, acked.Sub(begun).Seconds()*1000)
		took, err := b.effects(ctx, begun)
		if err != nil {
			return err
		}
		effects = append(effects, took...)
		wait(ctx, pause)
	}
	progress("%d shifts under load", b.shifts)
	r.AckP50, r.AckP99 = percentile(acks, 50), percentile(acks, 99)
	r.EffectP50, r.EffectP99 = percentile(effects, 50), percentile(effects, 99)
	for _, c := range b.clients {
		r.Requests += c.requests.Load()
		r.Failed += c.failed.Load()
		r.Closed += c.connections.Load() - 1
		if err := c.lastError(); err != nil {
			progress("a request failed: %v", err)
		}
	}
	return nil
}

// effects waits until each client has a response of the current target, and returns the times since the change in
// milliseconds.
func (b *bench) effects(ctx context.Context, begun time.Time) (took []float64, err error) {
	for i, c := range b.clients {
		if err := poll(ctx, fmt.Sprintf("response of target %s for client %d", targets[b.target], i),
			func() (bool, error) {
				since, is := c.answeredBy(targets[b.target])
				if is {
					took = append(took, since.Sub(begun).Seconds()*1000)
				}
				return is, nil
			}); err != nil {
			return nil, err
		}
	}
	return took, nil
}
