package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The heap of the control plane may grow by quietGCPercent between collections: most of it is the mesh, which is
// long-lived. With Go's default of 100 the process uses a third more memory. While collections are frequent, as when
// many clients connect at once, the heap may grow by up to busyGCPercent: the garbage is gone soon, and a low
// percentage doubles the CPU time. A heap of up to largeHeap may then not grow by more than busyGrowth: clients that
// send much make much garbage, too. A larger one grows by leastBusyGCPercent.
const (
	quietGCPercent            = 25
	leastBusyGCPercent        = 50
	busyGCPercent             = 100
	busyGrowth         uint64 = 20 << 20 // bytes
	largeHeap          uint64 = 128 << 20
	// quietAfter is the time without a collection after which they are no longer frequent.
	quietAfter = 5 * time.Second
	// settledAfter is the time without a collection after which the start is complete: after the first sync, the statuses
	// of all objects are compared.
	settledAfter = time.Second
)

// adaptGCPercent adapts GOGC until the context ends. Go's default applies before: the heap grows fast. It returns the
// memory of the first sync, of the time until the start is complete, and of each time of frequent collections, to the
// operating system. An idle process is not woken.
func adaptGCPercent(ctx context.Context) {
	debug.SetGCPercent(quietGCPercent)
	debug.FreeOSMemory()
	collected := make(chan struct{}, 1)
	afterCollections(ctx, func() {
		select {
		case collected <- struct{}{}:
		default:
		}
	})
	go func() {
		frequency := gcFrequency{percent: quietGCPercent}
		pause := settledAfter
		quiet := time.NewTimer(pause)
		defer quiet.Stop()
		for {
			before, settled := frequency.percent, false
			select {
			case <-ctx.Done():
				return
			case <-collected:
				frequency.collected(time.Now(), liveHeap())
				quiet.Reset(pause)
			case <-quiet.C:
				frequency.percent = quietGCPercent
				settled, pause = pause == settledAfter, quietAfter
			}
			now := frequency.percent
			if now != before {
				debug.SetGCPercent(now)
			}
			if now == quietGCPercent && (now != before || settled) {
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

// gcFrequency tells by which percentage the heap may grow, from the time between collections.
type gcFrequency struct {
	last    time.Time // of the last collection
	percent int
}

// collected takes a collection into account, after which the heap has a size in bytes.
func (f *gcFrequency) collected(now time.Time, live uint64) {
	frequent := now.Sub(f.last) < quietAfter
	f.last, f.percent = now, quietGCPercent
	switch {
	case frequent && live > largeHeap:
		f.percent = leastBusyGCPercent
	case frequent:
		f.percent = max(quietGCPercent, int(min(busyGCPercent, 100*busyGrowth/max(1, live))))
	}
}
