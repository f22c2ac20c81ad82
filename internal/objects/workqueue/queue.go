// Package workqueue remembers what is to be looked at.
//
// In: keys of things that may not be as they should be. Out: looks at them, one at a time for each key, however often it was added: a
// thing that changes faster than it is looked at is looked at as it is last. A look that fails is repeated after a pause, longer each
// time.
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
	// baseDelay and maxDelay are those after looks that failed.
	baseDelay = time.Second
	maxDelay  = time.Minute
)

// Work is what is done with keys. All fields are required.
type Work[K comparable] struct {
	// Workers is how many keys are looked at at the same time.
	Workers int
	// InitialKeys gives every key that there is, to begin with.
	InitialKeys func() []K
	// Reconcile brings what a key stands for into order. It may ask for another look after some time; 0 is none before the key is added
	// again. After an error there is another by itself.
	Reconcile func(context.Context, K) (again time.Duration, err error)
	// OnError hears of the first of a row of errors.
	OnError func(K, error)
}

// Queue holds keys while somebody works on them. Use New. It is safe for concurrent use.
type Queue[K comparable] struct {
	retries prometheus.Counter

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[K] // nil while nobody works
}

// New makes a queue; its metrics carry its name. Without a registerer there are none.
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

// Len is the number of keys that wait, without those that wait for their time.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return 0
	}
	return q.queue.Len()
}

// Add asks for looks. It never blocks, and does nothing while nobody works: work begins with a look at everything.
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

// Run works until the context ends, and returns when no look is under way. Calls must not overlap.
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

// processNext looks at one key, and tells whether there can be more.
func (q *Queue[K]) processNext(ctx context.Context, work workqueue.TypedRateLimitingInterface[K], w Work[K]) bool {
	key, ended := work.Get()
	if ended {
		return false
	}
	defer work.Done(key)
	if ctx.Err() != nil {
		return true // what is left is left
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

// jitteredRateLimiter makes pauses up to half as long again, lest what failed together fail together again.
type jitteredRateLimiter[K comparable] struct {
	workqueue.TypedRateLimiter[K]
}

func (j jitteredRateLimiter[K]) When(key K) time.Duration {
	pause := j.TypedRateLimiter.When(key)
	return pause + rand.N(pause/2+1)
}
