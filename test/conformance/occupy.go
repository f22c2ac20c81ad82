package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/driver/native"
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
			err = fmt.Errorf("the sidecar has %d open requests, want %d", open, n)
		}
		if !wait(ctx, occupyPoll) {
			return err
		}
	}
}

// openRequests reads the number of open requests of a line's port from the metrics of the sidecar.
func openRequests(ctx context.Context, l Line) (int, error) {
	metrics, value := "http://127.0.0.1:9901/stats?filter=^cluster.cds_(in|e)gress_", envoyGauge
	if os.Getenv(envBinary) == native.Name {
		metrics, value = "http://127.0.0.1:9901/metrics", nativeGauge
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	sum := 0
	for s := bufio.NewScanner(io.LimitReader(response.Body, 1<<20)); s.Scan(); {
		if text, counts := value(s.Text(), l); counts {
			n, err := strconv.Atoi(text)
			if err != nil {
				return 0, fmt.Errorf("metric %s: %w", s.Text(), err)
			}
			sum += n
		}
	}
	return sum, nil
}

// envoyGauge returns the value of a metric of Envoy that counts open requests, or connections of streams, of a port.
func envoyGauge(text string, l Line) (value string, counts bool) {
	gauges := []string{"upstream_rq_active", "upstream_rq_pending_active"}
	if !l.Request.Protocol.Requests() {
		gauges = []string{"upstream_cx_active"}
	}
	name, value, _ := strings.Cut(text, ": ")
	own := strings.Contains(name, fmt.Sprintf("_%d.", l.Request.Port)) ||
		strings.Contains(name, fmt.Sprintf("_self_redirect_%d_", l.Request.Port))
	return value, own && slices.ContainsFunc(gauges, func(g string) bool { return strings.HasSuffix(name, "."+g) })
}

// nativeGauge returns the value of a metric of our proxy that counts open requests and sessions. Lines of other ports
// have none at the same time.
func nativeGauge(text string, _ Line) (value string, counts bool) {
	name, value, _ := strings.Cut(text, "} ")
	return value, strings.HasPrefix(name, "cluster_active{")
}
