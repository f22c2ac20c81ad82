package workqueue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// work runs a queue in the test's bubble and notes its looks.
type work struct {
	*Queue[string]
	mu     sync.Mutex
	looks  []string
	failed []string
	fail   map[string]int // how often yet
	again  map[string]time.Duration
	block  chan struct{}
	stop   func()
}

func start(t *testing.T, q *Queue[string], all ...string) *work {
	t.Helper()
	w := &work{Queue: q, fail: map[string]int{}, again: map[string]time.Duration{}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		q.Run(ctx, Work[string]{
			Workers: 2, InitialKeys: func() []string { return all }, Reconcile: w.look,
			OnError: func(key string, err error) {
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

func (w *work) look(ctx context.Context, key string) (time.Duration, error) {
	w.mu.Lock()
	w.looks = append(w.looks, key)
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
	if w.fail[key] > 0 {
		w.fail[key]--
		return 0, errors.New("no")
	}
	return w.again[key], nil
}

// took gives the number of looks at a key since the last time.
func (w *work) took(key string) (n int) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var others []string
	for _, k := range w.looks {
		if k == key {
			n++
		} else {
			others = append(others, k)
		}
	}
	w.looks = others
	return n
}

func TestRunStartsWithAllKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("q", nil)
		q.Add("before") // nobody works: it is among all, or it is nothing
		w := start(t, q, "a", "b")
		if w.took("a") != 1 || w.took("b") != 1 || w.took("before") != 0 {
			t.Error("not everything was looked at, or more")
		}
		w.stop()
		q.Add("a")
		w = start(t, q, "a")
		if w.took("a") != 1 {
			t.Error("who works again does not begin with everything")
		}
	})
}

// Adding a key during its reconciliation causes one more reconciliation.
func TestRepeatedAddsAreCoalesced(t *testing.T) {
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
		if n := w.took("a"); n != 2 {
			t.Errorf("%d looks", n)
		}
	})
}

func TestBackoffGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := prometheus.NewRegistry()
		w := start(t, New[string]("q", metrics))
		w.fail["a"] = 100
		w.Add("a", "b")
		if w.took("a") != 1 || w.took("b") != 1 {
			t.Fatal("no look at all")
		}
		began := time.Now()
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			for w.took("a") == 0 {
				time.Sleep(100 * time.Millisecond) // of the bubble's time
			}
			if pause, want := time.Since(began), want*time.Second; pause < want || pause > want*3/2+200*time.Millisecond {
				t.Errorf("pause %d is %v, not %v and up to a half", i+1, pause, want)
			}
			began = time.Now()
		}
		if len(w.failed) != 1 || w.failed[0] != "a: no" {
			t.Errorf("told was %v, not the first failure", w.failed)
		}
		w.mu.Lock()
		w.fail["a"] = 0
		w.mu.Unlock()
		w.Add("a")
		if w.took("a") != 1 || w.took("b") != 0 {
			t.Error("an event waits for a pause, or another key is looked at")
		}
		w.fail["a"] = 1
		w.Add("a")
		if w.took("a"); len(w.failed) != 2 {
			t.Error("a failure after success is not told")
		}
		if err := testutil.GatherAndCompare(metrics, strings.NewReader(`
# HELP anymesh_workqueue_retries_total Reconciliations that failed and are retried, by queue: status, finalizers.
# TYPE anymesh_workqueue_retries_total counter
anymesh_workqueue_retries_total{queue="q"} 10
# HELP anymesh_workqueue_depth Objects in the queue, by queue: status, finalizers.
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
		w.again["a"] = time.Minute
		w.Add("a")
		w.took("a")
		time.Sleep(59 * time.Second)
		if w.took("a") != 0 {
			t.Error("it was too early")
		}
		time.Sleep(2 * time.Second)
		if w.took("a") != 1 {
			t.Error("it was forgotten")
		}
	})
}

// Run waits for running reconciliations and starts no others.
func TestRunWaitsForWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string]("q", nil)
		w := start(t, q)
		w.mu.Lock()
		w.block = make(chan struct{})
		w.mu.Unlock()
		w.Add("a", "b", "c", "d")
		synctest.Wait()
		if q.Len() != 2 {
			t.Errorf("%d keys wait for two workers that are busy", q.Len())
		}
		w.stop()
		if len(w.looks) != 2 || len(w.failed) != 0 || q.Len() != 0 {
			t.Errorf("looks %v, failures %v, and %d keys wait", w.looks, w.failed, q.Len())
		}
	})
}
