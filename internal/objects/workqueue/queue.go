// Package workqueue reconciles keys with retries.
//
// In: keys of objects to reconcile. Out: calls of Reconcile, one at a time per key. Keys that are added several times
// before they are processed are deduplicated, so that only the latest state is reconciled. Failed calls are retried
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
	// minBackoff and maxBackoff limit the backoff after failures.
	minBackoff = time.Second
	maxBackoff = time.Minute
	// maxQueued is the number of keys in the queue of client-go from which added keys wait outside. It keeps the memory
	// of its longest length, and Run begins with all objects of a cluster.
	maxQueued = 1000
)

// Reconciler processes the keys of a queue. All fields are required.
type Reconciler[K comparable] struct {
	// Workers is the number of keys that are processed concurrently.
	Workers int
	// ListKeys returns the keys of all objects, which are processed first.
	ListKeys func() []K
	// Reconcile reconciles the object of a key. The key is processed again after requeueAfter, unless it is 0. After
	// an error it is retried with backoff.
	Reconcile func(context.Context, K) (requeueAfter time.Duration, err error)
	// OnFailure is called for the first of consecutive errors of a key.
	OnFailure func(K, error)
}

// Queue is a queue of keys. Use New. It is safe for concurrent use.
type Queue[K comparable] struct {
	retries prometheus.Counter

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[K] // nil unless Run is running
	// outside are added keys that wait outside of the queue. If there are any, the queue is not empty.
	outside map[K]struct{}
}

// New creates a queue. Its metrics have the label queue with its name. A nil registerer disables them.
func New[K comparable](name string, metrics prometheus.Registerer) *Queue[K] {
	q := &Queue[K]{retries: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "anymesh_workqueue_retries_total",
		Help: "Reconciliations that failed and are retried, by queue: status, finalizers, kept, routes.",
	})}
	if metrics != nil {
		prometheus.WrapRegistererWith(prometheus.Labels{"queue": name}, metrics).MustRegister(q.retries,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "anymesh_workqueue_depth", Help: "Objects in the queue, by queue: status, finalizers, kept, routes.",
			}, func() float64 { return float64(q.Len()) }))
	}
	return q
}

// Len returns the number of queued keys, without those in backoff.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return 0
	}
	return q.queue.Len() + len(q.outside)
}

// Add adds keys. It never blocks. It has no effect unless Run is running: Run begins with all keys.
func (q *Queue[K]) Add(keys ...K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return
	}
	for i, k := range keys {
		if len(q.outside) == 0 && q.queue.Len() < maxQueued {
			q.queue.Add(k)
			continue
		}
		if q.outside == nil {
			q.outside = make(map[K]struct{}, len(keys)-i)
		}
		q.outside[k] = struct{}{}
	}
}

// refill moves keys from outside into the queue before it becomes empty.
func (q *Queue[K]) refill() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil || len(q.outside) == 0 || q.queue.Len() > maxQueued/2 {
		return
	}
	moved := 0
	for k := range q.outside {
		q.queue.Add(k)
		delete(q.outside, k)
		if moved++; moved == maxQueued/2 {
			break
		}
	}
	if len(q.outside) == 0 {
		q.outside = nil
	}
}

// AddAfter is Add after a delay. Keys that are added again within it are deduplicated.
func (q *Queue[K]) AddAfter(delay time.Duration, keys ...K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return
	}
	for _, k := range keys {
		q.queue.AddAfter(k, delay)
	}
}

// Run processes keys until the context ends, and waits for running calls of Reconcile. Calls of Run must not overlap.
func (q *Queue[K]) Run(ctx context.Context, w Reconciler[K]) {
	work := workqueue.NewTypedRateLimitingQueue(jitteredRateLimiter[K]{
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](minBackoff, maxBackoff),
	})
	q.setQueue(work)
	q.Add(w.ListKeys()...)
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
	q.queue, q.outside = work, nil
}

// processNext processes one key, and reports whether there may be more.
func (q *Queue[K]) processNext(ctx context.Context, work workqueue.TypedRateLimitingInterface[K],
	w Reconciler[K]) bool {
	q.refill()
	key, ended := work.Get()
	if ended {
		return false
	}
	defer work.Done(key)
	if ctx.Err() != nil {
		return true // shutting down: drop the key
	}
	requeueAfter, err := w.Reconcile(ctx, key)
	switch {
	case err == nil:
		work.Forget(key)
		if requeueAfter > 0 {
			work.AddAfter(key, requeueAfter)
		}
	case ctx.Err() == nil:
		if work.NumRequeues(key) == 0 {
			w.OnFailure(key, err)
		}
		q.retries.Inc()
		work.AddRateLimited(key)
	}
	return true
}

// jitteredRateLimiter adds up to half to each delay, so that keys that failed together are not retried together.
type jitteredRateLimiter[K comparable] struct {
	workqueue.TypedRateLimiter[K]
}

func (j jitteredRateLimiter[K]) When(key K) time.Duration {
	delay := j.TypedRateLimiter.When(key)
	return delay + rand.N(delay/2+1)
}
