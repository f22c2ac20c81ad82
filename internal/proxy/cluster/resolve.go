package cluster

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// resolveEvery is the time between two resolutions of a name, which each may take as long.
	resolveEvery = 5 * time.Second
	// firstResolve is the time after a failure before the first success.
	firstResolve = 100 * time.Millisecond
)

// resolved returns the endpoints of the addresses of a host name; none before the first resolution.
func (e *Endpoint) resolved() []*Endpoint {
	if all := e.addresses.Load(); all != nil {
		return *all
	}
	return nil
}

// expand replaces endpoints by those of their addresses. Before the first resolution, an endpoint stands for itself.
func (c *Cluster) expand(configured []*Endpoint) []*Endpoint {
	if !c.EachAddress {
		return configured
	}
	var all []*Endpoint
	for _, e := range configured {
		if of := e.resolved(); len(of) > 0 {
			all = append(all, of...)
		} else {
			all = append(all, e)
		}
	}
	return all
}

// resolveAlways resolves the names of the endpoints until the context ends.
func (c *Cluster) resolveAlways(ctx context.Context) {
	for {
		next := resolveEvery
		for _, e := range c.Endpoints() {
			if c.resolve(ctx, e); len(e.resolved()) == 0 {
				next = firstResolve
			}
		}
		c.resolvedOnce.Store(true)
		c.mayBegin()
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
	}
}

// resolve resolves the name of an endpoint. Addresses that stay keep their connections and their state. A failure
// changes nothing.
func (c *Cluster) resolve(ctx context.Context, e *Endpoint) {
	host, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		return // the path of a socket
	}
	limit, cancel := context.WithTimeout(ctx, resolveEvery)
	defer cancel()
	found, err := c.lookUp(limit, host)
	if err != nil || len(found) == 0 {
		return
	}
	gone := slices.Clone(e.resolved()) // nobody else changes them
	var all, added []*Endpoint
	for _, a := range found {
		address := net.JoinHostPort(a.String(), port)
		i := slices.IndexFunc(gone, func(one *Endpoint) bool { return one.Address == address })
		if i >= 0 {
			all = append(all, gone[i])
			gone = slices.Delete(gone, i, i+1)
			continue
		}
		spec := e.Spec
		spec.Address = a.String()
		one := &Endpoint{Name: e.Name + "/" + a.String(), Spec: spec, Auto: true, Weight: e.Weight, Address: address}
		all, added = append(all, one), append(added, one)
	}
	c.checkFirst(ctx, added)
	c.mu.Lock()
	if ctx.Err() != nil {
		c.mu.Unlock()
		return // another cluster has replaced this one
	}
	e.addresses.Store(&all)
	owned := func(one *Endpoint) bool { return one.owner.Load() == c } // the one before may have resolved the name last
	if targets := c.expand(c.Endpoints()); !slices.Equal(targets, c.Targets()) ||
		!slices.ContainsFunc(targets, owned) {
		c.rebuild(c.Endpoints())
		c.watch()
	}
	c.mu.Unlock()
	for _, one := range gone {
		one.Close()
	}
}

// checkFirst checks endpoints before they are used.
func (c *Cluster) checkFirst(ctx context.Context, added []*Endpoint) {
	if c.check == nil || c.HealthCheck == nil {
		return
	}
	var all sync.WaitGroup
	for _, e := range added {
		all.Go(func() {
			limit, cancel := context.WithTimeout(ctx, c.HealthCheck.Limit())
			defer cancel()
			e.health.unhealthy.Store(c.check(limit, c, e) != nil)
			e.health.checked.Store(true)
		})
	}
	all.Wait()
}

// lookUp returns the addresses of a host in a stable order: of one family, IPv6 if it has any.
func (c *Cluster) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	find := c.Resolve
	if find == nil {
		find = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	found, err := find(ctx, host)
	if err != nil {
		return nil, err
	}
	var four, six []netip.Addr
	for _, a := range found {
		if a = a.Unmap(); a.Is4() {
			four = append(four, a)
		} else {
			six = append(six, a)
		}
	}
	all := six
	if c.Spec.Family == 4 || len(six) == 0 && c.Spec.Family == 0 {
		all = four
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all), nil
}
