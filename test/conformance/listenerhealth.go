package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"anymesh.dev/anymesh/model"
)

// Results of health checks.
const (
	passes = "passes"
	fails  = "fails"
)

const (
	// healthTimeout limits the time until a check passes. A new Envoy needs as many checks as the healthy threshold.
	healthTimeout = 40 * time.Second
	healthPoll    = 100 * time.Millisecond
	// enoughFailures are those of the first check, which a new Envoy makes before it listens, and of one after it.
	enoughFailures = 2
)

// parseHealthCheck parses the port of a line "check WORKLOAD: PORT => RESULT".
func (l *Line) parseHealthCheck(port, want string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || want != passes && want != fails {
		return fmt.Errorf("want \"check <workload>: <port> => %s|%s\", have %q", passes, fails, port+" => "+want)
	}
	l.HealthCheck, l.Into, l.Request.Port, l.Want = true, true, uint16(n), Expectation{target: want}
	return nil
}

// healthResult returns the result of the health check of a line, if destinations are healthy.
func (l Line) healthResult(v *model.View) string {
	if d, checked := v.DecideHealthCheck(l.Request.Port); !checked || d.Outcome != model.Forwarded || l.unreachable(d) {
		return fails
	}
	return passes
}

// observeHealth waits until Envoy has the result of the health check.
func (p *pod) observeHealth(ctx context.Context, l Line) []string {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	for {
		c, err := healthCounters(ctx, l.Request.Port)
		if err == nil {
			healthy, failures := c["membership_healthy"], c["health_check.failure"]
			if l.Want[target] == passes && healthy == 1 ||
				l.Want[target] == fails && healthy == 0 && failures >= enoughFailures && c["health_check.success"] == 0 {
				return nil
			}
			err = fmt.Errorf("the metrics of the health check are %v, want that it %s", c, l.Want[target])
		}
		if !wait(ctx, healthPoll) {
			return []string{err.Error()}
		}
	}
}

// healthCounters returns the metrics of the health check of a listener. Their names are without the cluster.
func healthCounters(ctx context.Context, port uint16) (map[string]int, error) {
	url := fmt.Sprintf("http://127.0.0.1:9901/stats?filter=_(health_check|readiness)_[a-z0-9]%%2B_%d[.]", port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	out := map[string]int{}
	for s := bufio.NewScanner(io.LimitReader(response.Body, 1<<20)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ": ")
		_, name, _ = strings.Cut(name, fmt.Sprintf("_%d.", port))
		counts := strings.HasPrefix(name, "health_check.") || name == "membership_healthy"
		if n, err := strconv.Atoi(value); err == nil && counts {
			out[name] = n
		}
	}
	return out, nil
}
