package workqueue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// testReconciler runs a queue in the test's bubble and records calls of Reconcile.
type testReconciler struct {
	*Queue[string]
	mu           sync.Mutex
	reconciled   []string
	failed       []string
	failures     map[string]int // number of failures to come
	requeueAfter map[string]time.Duration
	block        chan struct{}
	stop         func()
}

func start(t *testing.T, q *Queue[string], all ...string) *testReconciler {
	t.Helper()
	w := &testReconciler{Queue: q, failures: map[string]int{}, requeueAfter: map[string]time.Duration{}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		q.Run(ctx, Reconciler[string]{
			Workers: 2, ListKeys: func() []string { return all }, Reconcile: w.reconcile,
			OnFailure: func(key string, err error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.failed = append(w.failed, key+": "+err.Error())
			},
		})
	})
	w.stop = func() { cancel(); running.Wait() }
	t.Cleanup(w.stop)
	synctest.Wait()
	return w
}

func (w *testReconciler) reconcile(ctx context.Context, key string) (time.Duration, error) {
	w.mu.Lock()
	w.reconciled = append(w.reconciled, key)
	block := w.block
	w.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failures[key] > 0 {
		w.failures[key]--
		return 0, errors.New("no")
	}
	return w.requeueAfter[key], nil
}

// takeCount returns the number of calls for a key since the last takeCount.
func (w *testReconciler) takeCount(key string) (n int) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var others []string
	for _, k := range w.reconciled {
		if k == key {
			n++
		} else {
			others = append(others, k)
		}
	}
	w.reconciled = others
	return n
}

func TestRunReconcilesAllKeysFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("q", nil)
		q.Add("before") // no effect: Run is not running
		w := start(t, q, "a", "b")
		if w.takeCount("a") != 1 || w.takeCount("b") != 1 || w.takeCount("before") != 0 {
			t.Error("Run did not process exactly the listed keys")
		}
		w.stop()
		q.Add("a")
		w = start(t, q, "a")
		if w.takeCount("a") != 1 {
			t.Error("the second Run did not process the listed keys")
		}
	})
}

// Keys that are added while they are processed are processed once more.
func TestAddedKeysAreDeduplicated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, New[string]("q", nil))
		w.mu.Lock()
		w.block = make(chan struct{})
		w.mu.Unlock()
		for range 10_000 {
			w.Add("a")
		}
		synctest.Wait()
		for range 10_000 {
			w.Add("a")
		}
		close(w.block)
		if n := w.takeCount("a"); n != 2 {
			t.Errorf("got %d calls, want 2", n)
		}
	})
}

func TestBackoffGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := prometheus.NewRegistry()
		w := start(t, New[string]("q", metrics))
		w.failures["a"] = 100
		w.Add("a", "b")
		if w.takeCount("a") != 1 || w.takeCount("b") != 1 {
			t.Fatal("not processed")
		}
		began := time.Now()
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			for w.takeCount("a") == 0 {
				time.Sleep(100 * time.Millisecond) // fake clock
			}
			if pause, want := time.Since(began), want*time.Second; pause < want ||
				pause > want*3/2+200*time.Millisecond {
				t.Errorf("backoff %d is %v, want %v plus up to a half", i+1, pause, want)
			}
			began = time.Now()
		}
		if len(w.failed) != 1 || w.failed[0] != "a: no" {
			t.Errorf("OnFailure was called with %v, want the first failure", w.failed)
		}
		w.mu.Lock()
		w.failures["a"] = 0
		w.mu.Unlock()
		w.Add("a")
		if w.takeCount("a") != 1 || w.takeCount("b") != 0 {
			t.Error("an added key waits for its backoff, or another key is processed")
		}
		w.failures["a"] = 1
		w.Add("a")
		if w.takeCount("a"); len(w.failed) != 2 {
			t.Error("OnFailure is not called after a success")
		}
		if err := testutil.GatherAndCompare(metrics, strings.NewReader(`
# HELP anymesh_workqueue_retries_total Reconciliations that failed and are retried, by queue: status, finalizers, kept, routes.
# TYPE anymesh_workqueue_retries_total counter
anymesh_workqueue_retries_total{queue="q"} 10
# HELP anymesh_workqueue_depth Objects in the queue, by queue: status, finalizers, kept, routes.
# TYPE anymesh_workqueue_depth gauge
anymesh_workqueue_depth{queue="q"} 0
`)); err != nil {
			t.Error(err)
		}
	})
}

func TestRequeueAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, New[string]("q", nil))
		w.requeueAfter["a"] = time.Minute
		w.Add("a")
		w.takeCount("a")
		time.Sleep(59 * time.Second)
		if w.takeCount("a") != 0 {
			t.Error("processed too early")
		}
		time.Sleep(2 * time.Second)
		if w.takeCount("a") != 1 {
			t.Error("not processed")
		}
	})
}

// When the context ends, Run waits for running calls and starts no others.
func TestRunStopsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("q", nil)
		w := start(t, q)
		w.mu.Lock()
		w.block = make(chan struct{})
		w.mu.Unlock()
		w.Add("a", "b", "c", "d")
		synctest.Wait()
		if q.Len() != 2 {
			t.Errorf("got %d queued keys for two busy workers, want 2", q.Len())
		}
		w.stop()
		if len(w.reconciled) != 2 || len(w.failed) != 0 || q.Len() != 0 {
			t.Errorf("calls %v, failures %v, %d keys queued", w.reconciled, w.failed, q.Len())
		}
	})
}

// The queue keeps no memory for all keys that Run begins with. Each is processed once.
func TestManyKeys(t *testing.T) {
	const keys, most = 50_000, 500_000 // bytes; the keys have 32 bytes each
	synctest.Test(t, func(t *testing.T) {
		all := make([]string, keys)
		for i := range all {
			all[i] = fmt.Sprintf("key %026d", i)
		}
		done := map[string]int{}
		var mu sync.Mutex
		q := New[string]("q", nil)
		ctx, cancel := context.WithCancel(t.Context())
		before := liveHeap()
		var running sync.WaitGroup
		running.Go(func() {
			q.Run(ctx, Reconciler[string]{
				Workers: 4, ListKeys: func() []string { return all },
				Reconcile: func(_ context.Context, key string) (time.Duration, error) {
					mu.Lock()
					defer mu.Unlock()
					done[key]++
					return 0, nil
				},
			})
		})
		synctest.Wait()
		for _, key := range all {
			if done[key] != 1 {
				t.Fatalf("%s was processed %d times", key, done[key])
			}
		}
		if n := q.Len(); n != 0 {
			t.Errorf("%d keys are queued", n)
		}
		done = nil
		if used := liveHeap() - before; used > most {
			t.Errorf("an empty queue has %d bytes, want at most %d", used, most)
		}
		runtime.KeepAlive(all)
		cancel()
		running.Wait()
	})
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
