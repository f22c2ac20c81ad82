package observe

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"anymesh.dev/anymesh/model"
)

// Results of health checks.
const (
	passes = "passes"
	fails  = "fails"
)

const (
	// healthTimeout limits the time until a check passes. A new sidecar may need as many checks as the healthy threshold.
	healthTimeout = 40 * time.Second
	healthPoll    = 100 * time.Millisecond
	// enoughFailures are those of the first check, which a new sidecar may make before it listens, and of one after it.
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

// What the metrics of health checks count.
const (
	healthyListeners = "healthy listeners"
	passedChecks     = "passed checks"
	failedChecks     = "failed checks"
)

// observeHealth waits until the sidecar has the result of the health check.
func (p *pod) observeHealth(ctx context.Context, l Line) []string {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	for {
		c, err := p.healthCounters(ctx, l.Request.Port)
		if err == nil {
			healthy := c[healthyListeners]
			if l.Want[target] == passes && healthy == 1 ||
				l.Want[target] == fails && healthy == 0 && c[failedChecks] >= enoughFailures && c[passedChecks] == 0 {
				return nil
			}
			err = fmt.Errorf("the metrics of the health check are %v, want that it %s", c, l.Want[target])
		}
		if !wait(ctx, healthPoll) {
			return []string{err.Error()}
		}
	}
}

// healthCounters returns the metrics of the health check of a listener.
func (p *pod) healthCounters(ctx context.Context, port uint16) (map[string]int, error) {
	if p.sidecar.HealthValue == nil {
		return nil, fmt.Errorf("sidecar %s has no metrics of health checks", p.sidecar.Name)
	}
	out := map[string]int{}
	err := eachMetric(ctx, p.sidecar.HealthURL, func(line string) (err error) {
		if what, value := p.sidecar.HealthValue(line, port); what != "" {
			out[what], err = strconv.Atoi(value)
		}
		return err
	})
	return out, err
}
