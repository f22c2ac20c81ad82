package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The heap of the control plane may grow by leastGCPercent between collections: most of it is the mesh, which is
// long-lived. With Go's default of 100 the process uses a third more memory. A small heap may grow by smallGrowth, up to
// Go's default: a collection costs more than the memory. While collections are frequent, as when many clients connect at
// once, a heap of more than largeHeap may grow by busyGCPercent: the garbage is gone soon, and a low percentage doubles
// the CPU time. A smaller one may not: clients that send much make much garbage, too.
const (
	leastGCPercent        = 25
	busyGCPercent         = 50
	maxGCPercent          = 100
	smallGrowth    uint64 = 20 << 20 // bytes
	largeHeap      uint64 = 128 << 20
	// quietAfter is the time without a collection after which they are no longer frequent.
	quietAfter = 5 * time.Second
)

// adaptGCPercent adapts GOGC until the context ends. Go's default applies before: the heap grows fast. It returns the
// memory of the start, and of each time of frequent collections, to the operating system. An idle process is not woken.
func adaptGCPercent(ctx context.Context) {
	debug.SetGCPercent(leastGCPercent)
	debug.FreeOSMemory()
	collected := make(chan struct{}, 1)
	afterCollections(ctx, func() {
		select {
		case collected <- struct{}{}:
		default:
		}
	})
	go func() {
		now := leastGCPercent
		var frequency gcFrequency
		quiet := time.NewTimer(quietAfter)
		defer quiet.Stop()
		for {
			ended := false
			select {
			case <-ctx.Done():
				return
			case <-collected:
				frequency.collected(time.Now(), liveHeap())
				quiet.Reset(quietAfter)
			case <-quiet.C:
				ended, frequency.frequent = frequency.frequent, false
			}
			if next := frequency.percent(); next != now {
				now = next
				debug.SetGCPercent(now)
			}
			if ended {
				debug.FreeOSMemory()
			}
		}
	}()
}

// collectionMark is unreachable at once, so that its cleanup runs after the next collection. The pointer keeps it out
// of blocks that small values share.
type collectionMark struct{ _ *collectionMark }

// afterCollections calls f after each garbage collection until the context ends.
func afterCollections(ctx context.Context, f func()) {
	runtime.AddCleanup(&collectionMark{}, func(context.Context) {
		if ctx.Err() == nil {
			afterCollections(ctx, f) // before f: another collection may follow at once
			f()
		}
	}, ctx)
}

// liveHeap returns the size of the heap after the last collection, in bytes.
func liveHeap() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// gcFrequency tells by which percentage the heap may grow, from its size and the time between collections.
type gcFrequency struct {
	last     time.Time // of the last collection
	live     uint64    // size after it, in bytes
	frequent bool
}

// collected takes a collection into account, after which the heap has a size in bytes.
func (f *gcFrequency) collected(now time.Time, live uint64) {
	f.frequent = now.Sub(f.last) < quietAfter
	f.last, f.live = now, live
}

// percent returns a multiple of 5: small changes of the heap do not change it.
func (f *gcFrequency) percent() int {
	if f.frequent && f.live > largeHeap {
		return busyGCPercent
	}
	small := min(maxGCPercent, 100*smallGrowth/max(1, f.live))
	return max(leastGCPercent, int(small)/5*5)
}
