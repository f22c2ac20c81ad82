// Package workqueue reconciles keys with a limited number of workers and exponential backoff.
//
// In: keys of objects whose state may differ from the desired one. Out: calls of Reconcile, one at a time for each key.
// A key that is added several times before its reconciliation is reconciled once. A failed reconciliation is retried
// with exponential backoff.
package workqueue

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

const (
	// baseDelay and maxDelay bound the backoff after failed reconciliations.
	baseDelay = time.Second
	maxDelay  = time.Minute
)

// Work configures the reconciliation of keys. All fields are required.
type Work[K comparable] struct {
	// Workers is the number of keys that are reconciled concurrently.
	Workers int
	// InitialKeys returns all keys, which are added at the start.
	InitialKeys func() []K
	// Reconcile reconciles a key. If again is positive, the key is added again after that time. After an error the key
	// is retried with backoff.
	Reconcile func(context.Context, K) (again time.Duration, err error)
	// OnError is called with the first of consecutive errors of a key.
	OnError func(K, error)
}

// Queue holds the keys to reconcile while Run runs. Use New. It is safe for concurrent use.
type Queue[K comparable] struct {
	retries prometheus.Counter

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[K] // nil while Run does not run
}

// New creates a queue. The name is a label of its metrics; without a registerer there are no metrics.
func New[K comparable](name string, metrics prometheus.Registerer) *Queue[K] {
	q := &Queue[K]{retries: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "anymesh_workqueue_retries_total", Help: "Reconciliations that failed and are retried, by queue: status, finalizers.",
	})}
	if metrics != nil {
		prometheus.WrapRegistererWith(prometheus.Labels{"queue": name}, metrics).MustRegister(q.retries, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "anymesh_workqueue_depth", Help: "Objects in the queue, by queue: status, finalizers.",
		}, func() float64 { return float64(q.Len()) }))
	}
	return q
}

// Len returns the number of keys in the queue, without delayed keys.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return 0
	}
	return q.queue.Len()
}

// Add adds keys. It never blocks, and does nothing while Run does not run: Run starts with all keys.
func (q *Queue[K]) Add(keys ...K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return
	}
	for _, k := range keys {
		q.queue.Add(k)
	}
}

// Run reconciles keys until the context ends, and returns when all workers have stopped. Calls must not overlap.
func (q *Queue[K]) Run(ctx context.Context, w Work[K]) {
	work := workqueue.NewTypedRateLimitingQueue(jitteredRateLimiter[K]{workqueue.NewTypedItemExponentialFailureRateLimiter[K](baseDelay, maxDelay)})
	q.setQueue(work)
	q.Add(w.InitialKeys()...)
	var workers sync.WaitGroup
	for range w.Workers {
		workers.Go(func() {
			for q.processNext(ctx, work, w) {
			}
		})
	}
	<-ctx.Done()
	q.setQueue(nil)
	work.ShutDown()
	workers.Wait()
}

func (q *Queue[K]) setQueue(work workqueue.TypedRateLimitingInterface[K]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = work
}

// processNext reconciles one key, and reports whether to continue.
func (q *Queue[K]) processNext(ctx context.Context, work workqueue.TypedRateLimitingInterface[K], w Work[K]) bool {
	key, ended := work.Get()
	if ended {
		return false
	}
	defer work.Done(key)
	if ctx.Err() != nil {
		return true // drain the queue without reconciling
	}
	again, err := w.Reconcile(ctx, key)
	switch {
	case err == nil:
		work.Forget(key)
		if again > 0 {
			work.AddAfter(key, again)
		}
	case ctx.Err() == nil:
		if work.NumRequeues(key) == 0 {
			w.OnError(key, err)
		}
		q.retries.Inc()
		work.AddRateLimited(key)
	}
	return true
}

// jitteredRateLimiter adds up to 50 % to each delay, so that keys that failed together are not retried together.
type jitteredRateLimiter[K comparable] struct {
	workqueue.TypedRateLimiter[K]
}

func (j jitteredRateLimiter[K]) When(key K) time.Duration {
	pause := j.TypedRateLimiter.When(key)
	return pause + rand.N(pause/2+1)
}
