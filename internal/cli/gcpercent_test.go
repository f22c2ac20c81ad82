package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestGCPercent checks that frequent collections and a small heap raise GOGC.
func TestGCPercent(t *testing.T) {
	r := gcRate{settled: true}
	start := time.Now()
	for _, step := range []struct {
		after   time.Duration
		live    uint64
		percent int
	}{
		{0, 20 << 20, quietGCPercent},
		{quietAfter, 50 << 20, 40},
		{2 * quietAfter, 100 << 20, leastGCPercent},
		{2*quietAfter + time.Second, 20 << 20, busyGCPercent},
		{2*quietAfter + 2*time.Second, 50 << 20, 40},
		{2*quietAfter + 2*time.Second, 128 << 20, leastGCPercent},
		{2*quietAfter + 3*time.Second, 200 << 20, leastBusyGCPercent},
		{2*quietAfter + 4*time.Second, 0, busyGCPercent},
		{3*quietAfter + 4*time.Second, 20 << 20, quietGCPercent},
	} {
		r.collected(start.Add(step.after))
		if percent := r.percent(step.live); percent != step.percent {
			t.Errorf("after %v: got %d, want %d", step.after, percent, step.percent)
		}
	}
	if percent := (&gcRate{}).percent(20 << 20); percent != leastGCPercent {
		t.Errorf("during the start: got %d, want %d", percent, leastGCPercent)
	}
}

// TestMemoryOfStartIsReturned checks that garbage that is made after the first sync does not stay if it is too little
// for a collection.
func TestMemoryOfStartIsReturned(t *testing.T) {
	percent := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	const live, garbage = 64 << 20, 8 << 20
	held := make([]byte, live)
	adaptGCPercent(t.Context(), debug.FreeOSMemory)
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	allocate(garbage)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		runtime.ReadMemStats(&now)
		if now.HeapAlloc < before.HeapAlloc+garbage/2 && now.NumGC > before.NumGC {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the heap has %d bytes, and %d before the garbage", now.HeapAlloc, before.HeapAlloc)
		}
	}
	runtime.KeepAlive(held)
}

// allocate makes garbage.
//
//go:noinline
func allocate(size int) []byte { return make([]byte, size) }

// TestAfterCollections checks that each collection is reported.
func TestAfterCollections(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	collected := make(chan struct{}, 1)
	afterCollections(ctx, func() { collected <- struct{}{} })
	for i := range 3 {
		runtime.GC()
		select {
		case <-collected:
		case <-time.After(2 * time.Minute):
			t.Fatalf("collection %d is not reported", i+1)
		}
	}
}
