package httpforward

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// deadline closes the connection to the endpoint when its time is over. A nil deadline has no limit.
type deadline struct {
	end   time.Time
	timer *time.Timer

	mu            sync.Mutex
	over, stopped bool
}

// deadline starts a deadline of some milliseconds; 0 is no limit.
func (c *conn) deadline(milliseconds int) *deadline {
	if milliseconds == 0 {
		return nil
	}
	after := time.Duration(milliseconds) * time.Millisecond
	d := &deadline{end: time.Now().Add(after)}
	d.timer = time.AfterFunc(after, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.stopped {
			return // the connection may serve another request
		}
		d.over = true
		if u := c.upstream.Load(); u != nil {
			_ = u.Close() // twice is harmless
		}
	})
	return d
}

func (d *deadline) stop() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}

func (d *deadline) isOver() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over || !d.stopped && !time.Now().Before(d.end)
}

// within returns a time that does not exceed the deadline. For a limit, 0 is none.
func (d *deadline) within(limit time.Duration) time.Duration {
	if d == nil {
		return limit
	}
	left := max(time.Until(d.end), time.Millisecond)
	if limit == 0 {
		return left
	}
	return min(limit, left)
}

// errAttempt is the error of an attempt whose response did not begin in time.
var errAttempt = errors.New("the endpoint does not answer within the timeout of the route")

// statusError is a response that is not sent to the client, because the request is sent again.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the endpoint answers with the status %d", e.status)
}

// again returns an error if the request is sent again after the current response.
func (c *conn) again(a *attempt) error {
	r := &a.route.Retry
	if a.last || len(r.Statuses)+len(r.GRPCStatuses) == 0 {
		return nil
	}
	retried := slices.Contains(r.Statuses, c.response.Status)
	if value, has := c.response.Get("grpc-status"); has && !retried {
		status, err := strconv.Atoi(text(value))
		retried = err == nil && slices.Contains(r.GRPCStatuses, status)
	}
	if retried && c.complete(a, linger) {
		return &statusError{c.response.Status}
	}
	return nil
}
