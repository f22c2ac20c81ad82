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
	unhealthy atomic.Bool // by health checks
	ejected   atomic.Bool // by failures
	failures  atomic.Int32

	mu        sync.Mutex
	ejections int
	since     time.Time // when the last ejection has ended
	timer     *time.Timer
}

// State returns "healthy", "unhealthy" or "ejected".
func (e *Endpoint) State() string {
	switch {
	case e.health.unhealthy.Load():
		return "unhealthy"
	case e.health.ejected.Load():
		return "ejected"
	}
	return "healthy"
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
func (c *Cluster) rebuild(all []*Endpoint) {
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
	c.current.Store(&choice{all, newBalancer(policy, available)})
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
	all := c.Endpoints()
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
	c.rebuild(all)
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

// Start begins the health checks of the endpoints, also of those that are added, until Stop.
func (c *Cluster) Start(ctx context.Context, check Check) {
	if c.HealthCheck == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check = check
	c.checking, c.Stop = context.WithCancel(ctx)
	c.watched = map[*Endpoint]context.CancelFunc{}
	c.watch(c.Endpoints())
}

// watch begins and ends checks, so that these endpoints are checked. It requires the lock.
func (c *Cluster) watch(all []*Endpoint) {
	if c.check == nil {
		return
	}
	for e, stop := range c.watched {
		if !slices.Contains(all, e) {
			stop()
			delete(c.watched, e)
		}
	}
	for _, e := range all {
		if c.watched[e] == nil {
			ctx, stop := context.WithCancel(c.checking)
			c.watched[e] = stop
			go c.checkAlways(ctx, e)
		}
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
		} else {
			passed, failed = 0, failed+1
		}
		before := e.health.unhealthy.Load()
		after := before && passed < healthy || failed >= unhealthy
		if first {
			after = err != nil
		}
		if after != before {
			e.health.unhealthy.Store(after)
			c.changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
