package httpforward

import (
	"errors"
	"slices"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/http1"
)

// checkChunks checks the chunks that came with the head, before an endpoint sees the request.
func (c *conn) checkChunks() error {
	if !c.request.Chunked {
		return nil
	}
	var chunks http1.Chunks
	for rest := (*c.in)[c.r:c.w]; len(rest) > 0 && !chunks.Done(); {
		_, used, err := chunks.Next(rest)
		if err != nil || used == 0 {
			return err
		}
		rest = rest[used:]
	}
	return nil
}

// mayRetry reports whether the route allows another attempt in the current state.
func (a *attempt) mayRetry(err error) bool {
	if !a.sent {
		return a.route.Retry.Connect()
	}
	again := (*statusError)(nil)
	switch {
	case errors.As(err, &again):
		return true
	case errors.Is(err, errAttempt) && a.whole && slices.Contains(a.route.Retry.Statuses, 504) && !a.route.Retry.Exact:
		return true
	}
	return a.whole && (a.route.Retry.Reset || a.route.Retry.Disconnect() && !a.once)
}

// chooseAgain chooses the cluster of a further attempt, if the route allows it. A cluster that is missing, that is none
// of HTTP, or whose limit is reached, is not used.
func (a *attempt) chooseAgain() {
	slot := a.route.Again(a.slot)
	next := slot.Get()
	if slot == a.slot || next == nil || next.Spec.Protocol != config.HTTP || next.Enter() != nil {
		return
	}
	next.Sessions.Add(1)
	a.dest.Leave()
	a.slot, a.dest = slot, next
}

// end ends the count of the request, before the client has the end of its response: it may send the next one then.
func (a *attempt) end() {
	if !a.ended {
		a.ended = true
		a.dest.EndRequest()
	}
}

// leave gives the connection back, too.
func (a *attempt) leave() {
	a.end()
	a.dest.LeaveConnection()
}

// idempotent reports whether a request with a method may be sent twice: RFC 9110, 9.2.2.
func idempotent(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}

// pause waits before another attempt, when all endpoints were tried.
func (c *conn) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.s.Done:
		return false
	}
}
