package agent

import (
	"context"
	"errors"
	"net/url"
	"time"
)

// levelPath is the path and the query of the request to the proxy, before the level.
const levelPath = "/logging?level="

// levelRetry is the time between requests to a proxy that cannot be reached.
const levelRetry = time.Second

// levels is the last log level that the proxy is to have.
type levels chan string

// newLevels returns a channel for one level: a level replaces the one before.
func newLevels() levels { return make(levels, 1) }

// set replaces the level. It does not wait, and only one goroutine calls it.
func (l levels) set(level string) {
	select {
	case <-l:
	default:
	}
	select {
	case l <- level:
	default: // another stream of the proxy has set the same
	}
}

// setLogLevels sets the levels in the proxy until the context ends. A proxy that was started again gets its level
// again.
func (a *agent) setLogLevels(ctx context.Context, wanted levels) {
	type state struct {
		proxy *child
		level string
	}
	var now, failed state
	var level string
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case level = <-wanted:
		case <-retry:
		}
		retry = nil
		next := state{a.proxy.Load(), level}
		if next == now {
			continue
		}
		err := post(ctx, a.LogLevelSocket, levelPath+url.QueryEscape(level))
		var refused refusedError
		switch {
		case err == nil:
			now = next
			continue
		case !errors.As(err, &refused):
			retry = time.After(levelRetry)
		}
		if failed != next {
			failed = next
			a.Logger.Warn("the proxy keeps its log level", "wanted", level, "error", err)
		}
	}
}
