package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Until the first sync, the heap may grow by startGCPercent between collections: with Go's default of 100, garbage
// leaves free places between the objects that stay, 10 MB with 10 000 services. Less than 60 costs CPU only.
//
// Later it may grow by leastGCPercent: most of it is the mesh, which is long-lived. With 100 the process uses a third
// more memory. Once the start is complete, a small heap may grow by growth, but not by more than quietGCPercent: a
// collection costs as much as is live, whatever it frees. While collections are frequent, as when many clients connect
// at once, it may grow by growth up to busyGCPercent: the garbage is gone soon. A heap over largeHeap grows by at least
// leastBusyGCPercent then, since a low percentage doubles the CPU time.
const (
	startGCPercent            = 60
	leastGCPercent            = 25
	quietGCPercent            = 50
	leastBusyGCPercent        = 50
	busyGCPercent             = 100
	growth             uint64 = 20 << 20 // bytes
	largeHeap          uint64 = 128 << 20
	// quietAfter is the time without a collection after which they are no longer frequent.
	quietAfter = 5 * time.Second
	// settledAfter is the time without a collection after which the start is complete: after the first sync, the statuses
	// of all objects are compared.
	settledAfter = time.Second
)

// adaptGCPercent adapts GOGC until the context ends, from the first sync on. It calls returnMemory, which returns
// memory to the operating system, after the first sync, once the start is complete, and after each time of frequent
// collections. An idle process is not woken.
func adaptGCPercent(ctx context.Context, returnMemory func()) {
	debug.SetGCPercent(leastGCPercent)
	returnMemory()
	collected := make(chan struct{}, 1)
	afterCollections(ctx, func() {
		select {
		case collected <- struct{}{}:
		default:
		}
	})
	go func() {
		var rate gcRate
		pause := settledAfter
		quiet := time.NewTimer(pause)
		defer quiet.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-collected:
				rate.collected(time.Now())
				debug.SetGCPercent(rate.percent(liveHeap()))
				quiet.Reset(pause)
			case <-quiet.C:
				if rate.frequent || !rate.settled {
					rate.frequent, rate.settled = false, true
					debug.SetGCPercent(rate.percent(liveHeap()))
					returnMemory()
				}
				pause = quietAfter
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

// gcRate tells whether collections are frequent.
type gcRate struct {
	last     time.Time // of the last collection
	frequent bool
	settled  bool // the start is complete
}

// collected takes a collection into account.
func (r *gcRate) collected(now time.Time) {
	r.frequent, r.last = now.Sub(r.last) < quietAfter, now
}

// percent returns the percentage by which a heap with so many live bytes may grow.
func (r *gcRate) percent(live uint64) int {
	least, most := leastGCPercent, leastGCPercent
	switch {
	case r.frequent && live > largeHeap:
		least, most = leastBusyGCPercent, busyGCPercent
	case r.frequent:
		most = busyGCPercent
	case r.settled:
		most = quietGCPercent
	}
	return max(least, min(most, int(100*growth/max(1, live))))
}
