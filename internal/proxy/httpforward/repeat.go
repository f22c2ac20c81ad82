package httpforward

import (
	"errors"
	"time"
)

// send sends a part of the body, and keeps it, so that a small request can be sent again. After an endpoint has ended
// the connection, the rest is only kept.
func (a *attempt) send(u *upstream, data []byte) error {
	if a.lost = a.lost || len(a.kept)+len(data) > bufferSize; a.lost {
		a.kept = nil
	} else {
		a.kept = append(a.kept, data...)
	}
	if a.unsent == nil {
		_, a.unsent = u.Write(data)
	}
	if a.lost {
		return a.unsent
	}
	return nil
}

// complete makes a request whole whose body was sent to its end, for which it waits some time. It reports whether the
// request can be sent again.
func (c *conn) complete(a *attempt, wait time.Duration) bool {
	if a.whole || a.body == nil {
		return a.whole
	}
	limit := time.NewTimer(wait)
	defer limit.Stop()
	var err error
	select {
	case err = <-a.body:
	default:
		select {
		case err = <-a.body:
		case <-limit.C:
			return false
		}
	}
	if err != nil && !errors.Is(err, a.unsent) || a.lost {
		a.body <- err // others ask for it
		return false
	}
	c.out = append(c.out[:a.head], a.kept...)
	a.whole, a.body = true, nil
	return true
}
