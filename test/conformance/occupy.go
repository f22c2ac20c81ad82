package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
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
		running.Go(func() { _, _ = c.send(held) }) // without a response, it ends with an error
		if err := p.awaitOpen(ctx, l, i+1); err != nil {
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
		open, err := openRequests(ctx, l)
		switch {
		case err == nil && open == n:
			return nil
		case err == nil:
			err = fmt.Errorf("Envoy has %d open requests, want %d", open, n)
		}
		if !wait(ctx, occupyPoll) {
			return err
		}
	}
}

// openRequests reads the number of open requests of a line's port from the metrics of Envoy.
func openRequests(ctx context.Context, l Line) (int, error) {
	const metrics = "http://127.0.0.1:9901/stats?filter=^cluster.cds_(in|e)gress_"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	gauges := []string{"upstream_rq_active", "upstream_rq_pending_active"}
	if !l.Request.Protocol.Requests() {
		gauges = []string{"upstream_cx_active"}
	}
	sum := 0
	for s := bufio.NewScanner(io.LimitReader(response.Body, 1<<20)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ": ")
		own := strings.Contains(name, fmt.Sprintf("_%d.", l.Request.Port)) ||
			strings.Contains(name, fmt.Sprintf("_self_redirect_%d_", l.Request.Port))
		for _, g := range gauges {
			if own && strings.HasSuffix(name, "."+g) {
				n, err := strconv.Atoi(value)
				if err != nil {
					return 0, fmt.Errorf("metric %s: %w", name, err)
				}
				sum += n
			}
		}
	}
	return sum, nil
}
