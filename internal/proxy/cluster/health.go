package cluster

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Check makes one health check of an endpoint. An error tells that it does not work.
type Check func(ctx context.Context, c *Cluster, e *Endpoint) error

// health is what is known about an endpoint.
type health struct {
	unhealthy atomic.Bool // by health checks, and before the first one
	checked   atomic.Bool
	ejected   atomic.Bool // by failures
	failures  atomic.Int32

	mu        sync.Mutex
	ejections int
	since     time.Time // when the last ejection has ended
	timer     *time.Timer
}

// The states of endpoints.
const (
	Healthy   = "healthy"
	Unhealthy = "unhealthy"
	Ejected   = "ejected"
)

// State returns the state of the endpoint.
func (e *Endpoint) State() string {
	switch {
	case e.health.unhealthy.Load():
		return Unhealthy
	case e.health.ejected.Load():
		return Ejected
	}
	return Healthy
}

// Watched reports whether the cluster of the endpoint has health checks or ejects endpoints.
func (e *Endpoint) Watched() bool {
	c := e.owner.Load()
	return c != nil && (c.HealthCheck != nil || c.Outlier != nil)
}

func (e *Endpoint) available() bool { return !e.health.unhealthy.Load() && !e.health.ejected.Load() }

// defaultPanic is the percentage of available endpoints below which all are used.
const defaultPanic = 50

// rebuild makes the balancer for the endpoints that are available; for all of them if too few are. It requires the
// lock.
func (c *Cluster) rebuild(configured []*Endpoint) {
	all := c.expand(configured)
	for _, e := range all {
		e.owner.Store(c)
	}
	policy := c.LoadBalancer.Policy
	if policy == "" && len(all) > 1 {
		policy = config.RoundRobin
	}
	available := slices.DeleteFunc(slices.Clone(all), func(e *Endpoint) bool { return !e.available() })
	threshold := defaultPanic
	if c.LoadBalancer.PanicThreshold != nil {
		threshold = *c.LoadBalancer.PanicThreshold
	}
	if len(available)*100 < threshold*len(all) {
		available = all
	}
	c.current.Store(&choice{configured, all, newBalancer(policy, available)})
}

// changed takes a change of the state of an endpoint into account.
func (c *Cluster) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebuild(c.Endpoints())
}

// Report counts what became of a connection or a request, for the ejection of endpoints.
func (c *Cluster) Report(e *Endpoint, ok bool) {
	if c.Outlier == nil {
		return
	}
	if ok {
		if e.health.failures.Load() != 0 {
			e.health.failures.Store(0)
		}
		return
	}
	failures, ejection, maxPercent := c.Outlier.Values()
	if int(e.health.failures.Add(1)) < failures || e.health.ejected.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.Targets()
	ejected := 0
	for _, one := range all {
		if one.health.ejected.Load() {
			ejected++
		}
	}
	if ejected > 0 && (ejected+1)*100 > maxPercent*len(all) {
		return
	}
	e.health.eject(ejection, func() { e.owner.Load().changed() })
	c.Ejections.Add(1)
	c.rebuild(c.Endpoints())
}

// eject ejects the endpoint for a time, which grows if it fails again soon.
func (h *health) eject(base time.Duration, changed func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	const most = 10
	if time.Since(h.since) > most*base {
		h.ejections = 0
	}
	h.ejections = min(h.ejections+1, most)
	h.ejected.Store(true)
	h.failures.Store(0)
	h.timer = time.AfterFunc(time.Duration(h.ejections)*base, func() {
		h.mu.Lock()
		h.since = time.Now()
		h.ejected.Store(false)
		h.mu.Unlock()
		changed()
	})
}

// Start begins the health checks of the endpoints and the resolution of their names, also of those that are added,
// until Stop.
func (c *Cluster) Start(ctx context.Context, check Check) {
	if c.HealthCheck == nil && !c.EachAddress {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check = check
	c.running, c.Stop = context.WithCancel(ctx)
	c.watched = map[*Endpoint]context.CancelFunc{}
	c.watch()
	resolved := func(e *Endpoint) bool { return len(e.resolved()) > 0 }
	c.resolvedOnce.Store(slices.ContainsFunc(c.Endpoints(), resolved)) // by the cluster that this one replaces
	c.mayBegin()
	if c.EachAddress {
		go c.resolveAlways(c.running)
	}
}

// watch begins and ends checks, so that the current endpoints are checked. It requires the lock.
func (c *Cluster) watch() {
	if c.running == nil || c.HealthCheck == nil {
		return
	}
	all := c.Targets()
	for e, stop := range c.watched {
		if !slices.Contains(all, e) {
			stop()
			delete(c.watched, e)
		}
	}
	for _, e := range all {
		if c.watched[e] == nil {
			ctx, stop := context.WithCancel(c.running)
			c.watched[e] = stop
			if !e.health.checked.Load() {
				e.health.unhealthy.Store(true)
			}
			go c.checkAlways(ctx, e)
		}
	}
	c.rebuild(c.Endpoints())
}

// beginTimeout limits how long requests wait for the first resolution and health check of a new cluster.
const beginTimeout = 5 * time.Second

// wait waits until each endpoint that the cluster began with has been resolved and checked once.
func (c *Cluster) wait() {
	if c.begun == nil {
		return
	}
	select {
	case <-c.begun:
		return
	default:
	}
	limit := time.NewTimer(beginTimeout)
	defer limit.Stop()
	select {
	case <-c.begun:
	case <-limit.C:
	}
}

// mayBegin ends wait if each endpoint has been resolved and checked.
func (c *Cluster) mayBegin() {
	unchecked := func(e *Endpoint) bool { return c.HealthCheck != nil && !e.health.checked.Load() }
	if (!c.EachAddress || c.resolvedOnce.Load()) && !slices.ContainsFunc(c.Targets(), unchecked) {
		c.first.Do(func() { close(c.begun) })
	}
}

// checkAlways checks an endpoint until the context ends.
func (c *Cluster) checkAlways(ctx context.Context, e *Endpoint) {
	healthy, unhealthy := c.HealthCheck.Thresholds()
	tick := time.NewTicker(c.HealthCheck.Every())
	defer tick.Stop()
	passed, failed := 0, 0
	for first := true; ; first = false {
		limit, cancel := context.WithTimeout(ctx, c.HealthCheck.Limit())
		err := c.check(limit, c, e)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			passed, failed = passed+1, 0
			c.Passed.Add(1)
		} else {
			passed, failed = 0, failed+1
			c.NotPassed.Add(1)
		}
		before := e.health.unhealthy.Load()
		after := before && passed < healthy || failed >= unhealthy
		if first {
			after = err != nil
			e.health.checked.Store(true)
		}
		if after != before {
			e.health.unhealthy.Store(after)
			c.changed()
		}
		if first {
			c.mayBegin()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
