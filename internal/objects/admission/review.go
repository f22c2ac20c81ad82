package admission

import (
	"context"
	"time"
)

// review is a review that is read, evaluated or waiting. It is used by one goroutine.
type review struct {
	share     *share
	source    string
	used      usage
	decoded   int64
	evaluated bool
}

// reviewKey finds the review in the context of a request.
type reviewKey struct{}

// begin counts a review. Its end must be called, unless there is an error.
func (s *share) begin(source string) (*review, error) {
	one := usage{reviews: 1}
	if !s.add(source, one) {
		return nil, errBusy
	}
	return &review{share: s, source: source, used: one}, nil
}

// end returns what the review uses.
func (r *review) end() {
	r.leave()
	r.share.decoded.Release(r.decoded)
	r.share.bodies.Release(r.used.bodies)
	r.share.add(r.source, r.used.negative())
}

// takeBody counts the body of the review. Reviews wait for bodies first, then for memory to decode them, and then for
// their evaluation: no two of them wait for each other.
func (r *review) takeBody(ctx context.Context, n int64) error {
	more := usage{bodies: n}
	if !r.share.add(r.source, more) {
		return errBusy
	}
	if err := acquire(ctx, r.share.bodies, n); err != nil {
		r.share.add(r.source, more.negative())
		return err
	}
	r.used = r.used.plus(more)
	return nil
}

// takeDecoded counts the decoded review.
func (r *review) takeDecoded(ctx context.Context, n int64) error {
	n = min(n, r.share.limits.decoded)
	if err := acquire(ctx, r.share.decoded, n); err != nil {
		return err
	}
	r.decoded = n
	return nil
}

// enter waits until the review may be evaluated, but not beyond the context or shareWait.
func (r *review) enter(ctx context.Context) error {
	timeout := time.NewTimer(shareWait)
	defer timeout.Stop()
	select {
	case r.share.evaluated <- struct{}{}:
		r.evaluated = true
		return nil
	case <-ctx.Done():
	case <-timeout.C:
	}
	return errBusy
}

// leave lets others be evaluated.
func (r *review) leave() {
	if r.evaluated {
		<-r.share.evaluated
		r.evaluated = false
	}
}

// wait counts the review as waiting until done is called. It reports false if too many wait, or if others need the
// memory of this one.
func (r *review) wait() (done func(), ok bool) {
	one := usage{waiting: 1}
	if r.decoded > r.share.limits.decoded/8 || !r.share.add(r.source, one) {
		return nil, false
	}
	return func() { r.share.add(r.source, one.negative()) }, true
}
