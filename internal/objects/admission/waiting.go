package admission

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MaxWait is how long a review waits for the cache to have the objects that it needs.
const MaxWait = 2 * time.Second

// Waiting has the reviews that wait for the cache. An object that was just applied, and on which the reviewed one
// depends, may be in the API server but not yet in the cache.
type Waiting struct {
	results *prometheus.CounterVec

	mu  sync.Mutex
	all map[*waiter]struct{}
}

// waiter is a waiting review.
type waiter struct {
	relevant func(client.Object) bool
	woken    chan struct{} // has room for one
}

// NewWaiting returns a Waiting without reviews.
func NewWaiting(registerer prometheus.Registerer) *Waiting {
	w := &Waiting{
		all: map[*waiter]struct{}{},
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_webhook_waits_total",
			Help: "Reviews whose objects were not in the cache, by result: found; timeout; refused, because too many wait.",
		}, []string{"result"}),
	}
	registerer.MustRegister(w.results)
	for _, result := range []string{"found", "timeout", "refused"} {
		w.results.WithLabelValues(result)
	}
	return w
}

// Await calls try until it returns true, at most for MaxWait: at once, and after each change of a relevant object. If
// too many reviews wait, it calls try only once. The context is that of a request that Guard passes on; a review that
// waits lets others be evaluated. A nil Waiting does not wait.
func (w *Waiting) Await(ctx context.Context, relevant func(client.Object) bool, try func() bool) {
	if try() || w == nil {
		return
	}
	w.results.WithLabelValues(w.await(ctx, relevant, try)).Inc()
}

func (w *Waiting) await(ctx context.Context, relevant func(client.Object) bool, try func() bool) (result string) {
	r, counted := ctx.Value(reviewKey{}).(*review)
	if counted {
		done, ok := r.wait()
		if !ok {
			return "refused"
		}
		defer done()
	}
	own := w.add(relevant)
	defer w.remove(own)
	timeout := time.NewTimer(MaxWait)
	defer timeout.Stop()
	for {
		if counted {
			r.leave()
		}
		select {
		case <-own.woken:
		case <-timeout.C:
			return "timeout"
		case <-ctx.Done():
			return "timeout"
		}
		if counted && r.enter(ctx) != nil {
			return "timeout"
		}
		if try() {
			return "found"
		}
	}
}

// add adds a waiter that is woken at once, for changes since the first try.
func (w *Waiting) add(relevant func(client.Object) bool) *waiter {
	own := &waiter{relevant: relevant, woken: make(chan struct{}, 1)}
	own.woken <- struct{}{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[own] = struct{}{}
	return own
}

func (w *Waiting) remove(own *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, own)
}

// Changed wakes the reviews to which an added, changed or deleted object is relevant. The cache must have the change.
func (w *Waiting) Changed(objects ...client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for own := range w.all {
		if slices.ContainsFunc(objects, own.relevant) {
			select {
			case own.woken <- struct{}{}:
			default: // it is woken already
			}
		}
	}
}
