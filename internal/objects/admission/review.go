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
	size      int64 // as decodedSize estimates it
	evaluated bool
	entered   time.Time // when the evaluation began
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
	r.share.bodies.Release(r.used.bodies)
	r.share.add(r.source, r.used.negative())
}

// takeBody counts the body of the review. Reviews wait for bodies first, then for memory to decode them, and then for
// a processor: no two of them wait for each other.
func (r *review) takeBody(ctx context.Context, n int64) error {
	more := usage{bodies: n}
	if !r.share.add(r.source, more) {
		return errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, shareWait)
	defer cancel()
	if r.share.bytes.waitSource(ctx, r.source, int(n)) != nil || r.share.bytes.waitAll(ctx, int(n)) != nil ||
		r.share.bodies.Acquire(ctx, n) != nil {
		r.share.add(r.source, more.negative())
		return errBusy
	}
	r.used = r.used.plus(more)
	return nil
}

// evaluatedSize is the part of the limit of decoded reviews that the review needs.
func (r *review) evaluatedSize() int64 { return min(r.size, r.share.limits.decoded) }

// enter waits until the review may be decoded and evaluated, but not beyond the context or shareWait.
func (r *review) enter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shareWait)
	defer cancel()
	if r.share.time.waitSource(ctx, r.source, 1) != nil || r.share.decoded.Acquire(ctx, r.evaluatedSize()) != nil {
		return errBusy
	}
	select {
	case r.share.evaluated <- struct{}{}:
		r.evaluated = true
	case <-ctx.Done():
		r.share.decoded.Release(r.evaluatedSize())
		return errBusy
	}
	// One after the other waits here, so that each has the time of those before it charged.
	if r.share.time.waitAll(ctx, 1) != nil {
		r.leave()
		return errBusy
	}
	r.entered = time.Now()
	return nil
}

// leave lets others be evaluated.
func (r *review) leave() {
	if r.evaluated {
		if !r.entered.IsZero() {
			r.share.time.charge(r.source, int(time.Since(r.entered).Microseconds()))
			r.entered = time.Time{}
		}
		r.share.decoded.Release(r.evaluatedSize())
		<-r.share.evaluated
		r.evaluated = false
	}
}

// wait counts the review as waiting until done is called. It reports false if too many wait, or if the review is too
// large to wait.
func (r *review) wait() (done func(), ok bool) {
	one := usage{waiting: 1}
	if r.size > r.share.limits.waitingDecoded || !r.share.add(r.source, one) {
		return nil, false
	}
	return func() { r.share.add(r.source, one.negative()) }, true
}
