package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// usage is the resource usage of a process.
type usage struct{ goroutines, descriptors, heap float64 }

func (s *server) usage(ctx context.Context, when string) (usage, error) {
	var h usage
	if err := s.settle(ctx); err != nil {
		return h, err
	}
	for i := range 5 { // minimum: the process allocates between the garbage collection and the measurement
		if _, err := s.memoryNow(ctx, when); err != nil { // runs a garbage collection
			return h, err
		}
		values, err := s.read(ctx, "go_goroutines", "process_open_fds", "go_memstats_heap_alloc_bytes")
		if err != nil {
			return h, err
		}
		if now := (usage{values[0], values[1], values[2]}); i == 0 || now.heap < h.heap {
			h = now
		}
	}
	return h, nil
}

// Accepted growth: connections to the API server vary, and so does the heap size.
const maxGoroutineGrowth, maxDescriptorGrowth, maxHeapFactor = 20, 10, 1.1

// testChurn makes random changes for a while, restores the initial state, and compares the resource usage of the
// control plane before and after.
func testChurn(ctx context.Context, bin string, s size, duration time.Duration) error {
	m, stop, err := prepare(ctx, anymesh{}, bin, s)
	if err != nil {
		return err
	}
	defer stop()
	c := &churn{bench: m, stops: make([]func(), s.clients), routed: map[int]bool{}, counts: map[string]int{}}
	defer func() { c.disconnect() }()
	c.connect(ctx)
	round := func(d time.Duration) error { return errors.Join(c.disturb(ctx, d), c.restore(ctx)) }
	if err := round(duration / 5); err != nil { // warm-up: allocations on first use are not leaks
		return err
	}
	before, err := m.server.usage(ctx, "before-churn")
	if err != nil {
		return err
	}
	progress("warm-up completed; churn for %v", duration)
	if err := round(duration); err != nil {
		return err
	}
	after, err := m.server.usage(ctx, "after-churn")
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "after %v of churn: %v\n\tbefore\tafter\n", duration, c.counts)
	fmt.Fprintf(t, "goroutines\t%.0f\t%.0f\ndescriptors\t%.0f\t%.0f\nheap\t%.1f MB\t%.1f MB\n",
		before.goroutines, after.goroutines, before.descriptors, after.descriptors, before.heap/1e6, after.heap/1e6)
	_ = t.Flush() // to a terminal
	if after.goroutines > before.goroutines+maxGoroutineGrowth ||
		after.descriptors > before.descriptors+maxDescriptorGrowth || after.heap > before.heap*maxHeapFactor {
		return errors.New("resource usage has grown")
	}
	return nil
}

// churn is a run with random changes.
type churn struct {
	*bench
	stops  []func()     // of connected clients
	routed map[int]bool // services with a router
	counts map[string]int
}

func (c *churn) connect(ctx context.Context) {
	for i, s := range c.fleet.sidecars {
		if c.stops[i] == nil {
			c.stops[i] = s.start(ctx)
		}
	}
}

func (c *churn) disconnect() {
	for i, stop := range c.stops {
		if stop != nil {
			stop()
			c.stops[i] = nil
		}
	}
}

// disturb makes random changes.
func (c *churn) disturb(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		i := rand.IntN(c.services)
		var err error
		var what string
		switch rand.IntN(8) {
		case 0, 1:
			what, err = "pod readiness", c.setReady(ctx, i, 0, rand.IntN(2) == 0)
		case 2:
			what, err = "pod replaced", errors.Join(c.remove(ctx,
				pod(endpointPod(i, 1), serviceName(i))), c.service(ctx, i))
		case 3:
			what, err = "service replaced", errors.Join(c.remove(ctx,
				&api.VirtualService{ObjectMeta: meta(serviceName(i))}), c.service(ctx, i))
		case 4:
			what, err = "workload replaced", errors.Join(c.remove(ctx, node(serviceName(i))), c.service(ctx, i))
		case 5:
			what = "client connected or disconnected"
			if k := rand.IntN(c.clients); c.stops[k] != nil {
				c.stops[k]()
				c.stops[k] = nil
			} else {
				c.stops[k] = c.fleet.sidecars[k].start(ctx)
			}
		case 6, 7:
			if c.routed[i] && rand.IntN(2) == 0 {
				what, err = "router deleted", c.unroute(ctx, i)
			} else {
				what, err = "router created or updated", c.route(ctx, i)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		c.counts[what]++
	}
	return nil
}

func (c *churn) remove(ctx context.Context, o client.Object) error {
	grace := int64(0)
	return client.IgnoreNotFound(c.client.Delete(ctx, o, &client.DeleteOptions{GracePeriodSeconds: &grace}))
}

// route makes a router with a new route the provider of a service.
func (c *churn) route(ctx context.Context, i int) error {
	c.routed[i] = true
	name := serviceName(i)
	return errors.Join(c.routeAt(ctx, name, fmt.Sprintf("/%d/", rand.IntN(1000))), c.provide(ctx, name, map[string]any{
		"virtualNode":   nil,
		"virtualRouter": api.VirtualRouterServiceProvider{VirtualRouterRef: &api.VirtualRouterReference{Name: name}},
	}))
}

// unroute deletes the router, if there is one.
func (c *churn) unroute(ctx context.Context, i int) error {
	if !c.routed[i] {
		return nil
	}
	delete(c.routed, i)
	name := serviceName(i)
	return errors.Join(c.provide(ctx, name, map[string]any{
		"virtualRouter": nil,
		"virtualNode":   api.VirtualNodeServiceProvider{VirtualNodeRef: &api.VirtualNodeReference{Name: name}},
	}), c.remove(ctx, &api.VirtualRouter{ObjectMeta: meta(name)}))
}

// restore restores the initial state.
func (c *churn) restore(ctx context.Context) error {
	c.connect(ctx)
	for i := range c.services {
		if err := errors.Join(c.unroute(ctx, i), c.service(ctx, i)); err != nil {
			return err
		}
	}
	return nil
}
