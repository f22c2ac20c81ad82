package cluster

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrOverflow is the error of what exceeds the limits of a cluster.
var ErrOverflow = errors.New("too many requests at a time")

// errWaited is the error of a request that has waited for its time.
var errWaited = errors.New("the request has waited for too long")

// gate counts what has a connection, and what waits for one.
type gate struct {
	mu      sync.Mutex
	open    int
	waiting []chan struct{} // in order
}

// Enter counts a session, unless that would exceed the limits; Leave ends it.
func (c *Cluster) Enter() error { return c.enter(false, 0) }

// EnterRequest counts a request, which may wait for another one to end; Leave ends it. A limit of 0 is none.
func (c *Cluster) EnterRequest(limit time.Duration) error { return c.enter(!c.Spec.HTTP2, limit) }

func (c *Cluster) enter(waits bool, limit time.Duration) error {
	n := c.Active.Add(1)
	if c.Limits.Requests > 0 && n > int64(c.Limits.Requests) {
		c.Active.Add(-1)
		return c.overflow()
	}
	if err := c.connections.enter(c.connectionLimit(), c.Limits.Waiting, waits, limit); err != nil {
		c.Active.Add(-1)
		if errors.Is(err, ErrOverflow) {
			return c.overflow()
		}
		return fmt.Errorf("cluster %q: %w", c.Name, err)
	}
	return nil
}

func (c *Cluster) overflow() error {
	c.Overflows.Add(1)
	return fmt.Errorf("cluster %q: %w", c.Name, ErrOverflow)
}

// connectionLimit returns the number of connections at a time; 0 is no limit. A connection of HTTP/2 takes any number
// of requests.
func (c *Cluster) connectionLimit() int {
	if c.Spec.HTTP2 {
		return 0
	}
	return c.Limits.Connections
}

// enter takes a connection of up to most. If there is none, it waits if it may, together with up to others.
func (g *gate) enter(most, others int, waits bool, limit time.Duration) error {
	g.mu.Lock()
	if most == 0 || g.open < most {
		g.open++
		g.mu.Unlock()
		return nil
	}
	if !waits || others > 0 && len(g.waiting) >= others {
		g.mu.Unlock()
		return ErrOverflow
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	var over <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-turn:
		return nil
	case <-over:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, turn)
	if i < 0 {
		return nil // its turn has come meanwhile
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return errWaited
}

// leave gives the connection back: to the first that waits.
func (g *gate) leave(most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 && (most == 0 || g.open <= most) {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		return
	}
	g.open--
}

// Leave ends what Enter or EnterRequest has counted.
func (c *Cluster) Leave() {
	c.EndRequest()
	c.LeaveConnection()
}

// EndRequest is the first half of Leave: for a request whose response is complete, but whose connection is still used.
// A client that has its response may send another request.
func (c *Cluster) EndRequest() { c.Active.Add(-1) }

// LeaveConnection is the second half of Leave.
func (c *Cluster) LeaveConnection() { c.connections.leave(c.connectionLimit()) }

// ConnectTimeout returns the limit of an attempt to connect, or the one of the route.
func (c *Cluster) ConnectTimeout(ofRoute time.Duration) time.Duration {
	if c.Limits.ConnectTimeout > 0 {
		return time.Duration(c.Limits.ConnectTimeout) * time.Millisecond
	}
	return ofRoute
}
