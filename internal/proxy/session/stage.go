package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// Roles of stages.
const (
	roleSource      = "source"
	roleDestination = "destination"
	roleIngress     = "ingress"
	roleEgress      = "egress"
)

// stage is one connection of a session. With a retry policy for disconnects it is a stream that connects again.
type stage struct {
	session *Session
	role    string
	retry   config.Retry
	// reconnect is held while the connection is replaced.
	reconnect sync.Mutex
	counted   atomic.Pointer[cluster.Cluster] // the cluster, for counters

	// Guarded by the session's lock. The slot is changed only while the stage has no connection.
	slot     *object.Slot[cluster.Cluster]
	cluster  *cluster.Cluster
	endpoint *cluster.Endpoint
	stream   stream.Stream
	status   string
	closed   bool // the session ends
	ended    bool // no more data is sent to the stage
}

// errUnknownCluster is the error of a reference to a cluster that does not exist.
var errUnknownCluster = errors.New("Unknown cluster")

func statusOf(err error) int {
	switch {
	case errors.Is(err, cluster.ErrNoEndpoint), errors.Is(err, cluster.ErrOverflow), errors.Is(err, errUnknownCluster):
		return 503
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return 504
	}
	return 502
}

// connect connects to an endpoint of the cluster, which may be added or replaced between attempts.
func (g *stage) connect(ctx context.Context, retry bool, retries int) error {
	var tried []*cluster.Endpoint
	for attempt := 0; ; attempt++ {
		more, err := g.try(ctx, &tried)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if !retry || attempt >= retries {
			return err
		}
		g.setStatus(statusRetrying)
		g.chooseAgain()
		if more {
			continue // another endpoint, at once
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(g.retry.Wait(attempt + 1)):
		}
	}
}

// try makes one attempt. More tells that there are endpoints that were not tried.
func (g *stage) try(ctx context.Context, tried *[]*cluster.Endpoint) (more bool, err error) {
	c := g.slot.Get()
	if c == nil {
		return false, fmt.Errorf("%w %q", errUnknownCluster, g.slot.Name)
	}
	var e *cluster.Endpoint
	if !c.Spec.Protocol.Pseudo() {
		if e, err = c.Pick(g.session.Meta, *tried); err != nil {
			return false, err
		}
		*tried = append(*tried, e)
		more = c.Untried(*tried)
	}
	attempt, cancel := ctx, func() {}
	if timeout := c.ConnectTimeout(g.retry.Pause()); timeout > 0 {
		attempt, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	c.Sessions.Add(1)
	if err := c.Enter(); err != nil {
		c.Failed.Add(1)
		return false, err
	}
	opened, err := g.session.manager.Connector.Connect(attempt, c, e, g.session.Meta)
	if e != nil {
		c.Report(e, err == nil)
	}
	if err != nil {
		c.Leave()
		c.Failed.Add(1)
		return more, err
	}
	if !g.use(c, e, opened) {
		c.Leave()
		_ = opened.Close() // the session ended meanwhile
		return false, context.Canceled
	}
	return false, nil
}

// use makes a connection that of the stage, unless the session has ended.
func (g *stage) use(c *cluster.Cluster, e *cluster.Endpoint, opened stream.Stream) bool {
	g.session.mu.Lock()
	defer g.session.mu.Unlock()
	if g.closed {
		return false
	}
	g.counted.Store(c)
	g.cluster, g.endpoint, g.stream, g.status = c, e, opened, statusReady
	if e != nil {
		e.Active.Add(1)
	}
	return true
}

// disconnect closes the connection of the stage.
func (g *stage) disconnect(status string) {
	g.session.mu.Lock()
	defer g.session.mu.Unlock()
	g.drop(status)
}

func (g *stage) drop(status string) {
	g.status = status
	if g.stream == nil {
		return
	}
	_ = g.stream.Close() // what had to be sent was sent
	g.cluster.Leave()
	if g.endpoint != nil {
		g.endpoint.Active.Add(-1)
	}
	g.stream = nil
}

// close ends the stage.
func (g *stage) close() {
	g.session.mu.Lock()
	defer g.session.mu.Unlock()
	g.closed = true
	g.drop(statusEnd)
}

func (g *stage) setStatus(status string) {
	g.session.mu.Lock()
	defer g.session.mu.Unlock()
	g.status = status
}

// chooseAgain chooses the cluster of a further attempt.
func (g *stage) chooseAgain() {
	g.session.mu.Lock()
	defer g.session.mu.Unlock()
	if g.role == roleDestination {
		g.slot = g.session.route.Again(g.slot)
	}
}

// count counts data that was sent to the stage, or received from it.
func (g *stage) count(bytes int, sent bool) {
	c := g.counted.Load()
	if c == nil {
		return
	}
	t := &c.Received
	if sent {
		t = &c.Sent
	}
	t.Bytes.Add(uint64(bytes))
	t.Pieces.Add(1)
}

// side returns the stream of the stage, which connects again if the route says so.
func (g *stage) side() stream.Stream {
	if g.role != roleSource && g.retry.Disconnect() {
		return (*reconnecting)(g)
	}
	g.session.mu.Lock()
	defer g.session.mu.Unlock()
	if g.stream == nil {
		return closedStream{}
	}
	return g.stream
}
