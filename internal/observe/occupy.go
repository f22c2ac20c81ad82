package observe

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"
)

// occupyTimeout limits the time until the open requests of a line are where they should be.
const (
	occupyTimeout = 10 * time.Second
	occupyPoll    = 5 * time.Millisecond
)

// occupy opens as many requests on the port of a line as its state has, and returns when Envoy has them: forwarded, or
// waiting for a connection. The returned function cancels them, and returns when they are gone. If the request of the
// line may wait for them, they are canceled as soon as Envoy has it.
func (p *pod) occupy(ctx context.Context, l Line, mayWait bool) (release func(), err error) {
	n := int(l.Request.State.Open)
	if n == 0 {
		return func() {}, nil
	}
	if err := p.awaitOpen(ctx, l, 0); err != nil { // those of the line before may end now
		return nil, err
	}
	held, cancel := context.WithCancel(ctx)
	var running, watching sync.WaitGroup
	release = func() {
		cancel()
		running.Wait()
		watching.Wait()
		_ = p.awaitOpen(ctx, l, 0) // the next line fails if they are not gone
	}
	for i := range n {
		c, err := p.caller(l)
		if err != nil {
			release()
			return nil, err
		}
		c.hold = true
		before := p.counter.count(holdHeader)
		running.Go(func() { _, _ = c.send(held) }) // without a response, it ends with an error
		err = p.awaitOpen(ctx, l, i+1)
		if err == nil && i < p.forwardedAtOnce(l) {
			err = p.awaitHeld(ctx, before+1)
		}
		if err != nil {
			release()
			return nil, err
		}
	}
	if mayWait {
		watching.Go(func() {
			defer cancel()
			_ = p.awaitOpen(held, l, n+1) // the request does not wait if this fails
		})
	}
	return release, nil
}

// awaitOpen waits until the clusters of the application and of destinations have n requests, or n connections for
// streams.
func (p *pod) awaitOpen(ctx context.Context, l Line, n int) error {
	ctx, cancel := context.WithTimeout(ctx, occupyTimeout)
	defer cancel()
	for {
		open, err := p.openRequests(ctx, l)
		switch {
		case err == nil && open == n:
			return nil
		case err == nil:
			err = fmt.Errorf("the sidecar has %d open requests, want %d", open, n)
		}
		if !wait(ctx, occupyPoll) {
			return err
		}
	}
}

// awaitHeld waits until servers of the pod hold n requests. A request whose connection is not established yet counts as
// one that waits for a connection, so that the next one could exceed a limit of these.
func (p *pod) awaitHeld(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, occupyTimeout)
	defer cancel()
	for p.counter.count(holdHeader) < n {
		if !wait(ctx, occupyPoll) {
			return fmt.Errorf("no server has the open request %d", n)
		}
	}
	return nil
}

// forwardedAtOnce returns how many requests of a line the servers have at the same time; others wait for a connection.
func (p *pod) forwardedAtOnce(l Line) int {
	if !l.Request.Protocol.Requests() {
		return 0 // streams do not wait
	}
	n := math.MaxInt
	limit := func(connections uint32) {
		if connections > 0 && !l.Request.Protocol.Multiplexed() {
			n = min(n, int(connections))
		}
	}
	for _, t := range l.decide(p.view).Targets {
		if to, _ := p.view.Destination(t.Destination); to.Limits != nil {
			limit(to.Limits.MaxConnections)
		}
	}
	for _, in := range p.view.Inbound {
		if b := in.Listener.CircuitBreaker; l.Into && in.Listener.Port == l.Request.Port && b != nil {
			limit(b.MaxConnections)
		}
	}
	return n
}

// openRequests reads the number of open requests of a line's port from the metrics of the sidecar.
func (p *pod) openRequests(ctx context.Context, l Line) (int, error) {
	if p.sidecar.OpenValue == nil {
		return 0, fmt.Errorf("sidecar %s has no metric of open requests", p.sidecar.Name)
	}
	sum := 0
	err := eachMetric(ctx, p.sidecar.OpenURL, func(line string) error {
		text, counts := p.sidecar.OpenValue(line, l.Request.Port, !l.Request.Protocol.Requests())
		if !counts {
			return nil
		}
		n, err := strconv.Atoi(text)
		sum += n
		return err
	})
	return sum, err
}
