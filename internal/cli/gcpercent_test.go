package cli

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// TestGCPercent checks that frequent collections raise GOGC.
func TestGCPercent(t *testing.T) {
	var f gcFrequency
	start := time.Now()
	for _, step := range []struct {
		after   time.Duration
		percent int
	}{
		{0, quietGCPercent},
		{quietAfter, quietGCPercent},
		{quietAfter + time.Second, busyGCPercent},
		{quietAfter + 2*time.Second, busyGCPercent},
		{2*quietAfter + 2*time.Second, quietGCPercent},
	} {
		f.collected(start.Add(step.after))
		if got := f.percent(); got != step.percent {
			t.Errorf("after %v: got %d, want %d", step.after, got, step.percent)
		}
	}
}

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
		case <-time.After(10 * time.Second):
			t.Fatalf("collection %d is not reported", i+1)
		}
	}
}
