package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// The heap of the control plane may grow by quietGCPercent between collections: most of it is the mesh, which is
// long-lived. With Go's default of 100 the process uses a third more memory. While collections are frequent, as when
// many clients connect at once, the heap may grow by busyGCPercent: the garbage is gone soon, and a low percentage
// doubles the CPU time.
const (
	quietGCPercent = 25
	busyGCPercent  = 100
	// quietAfter is the time without a collection after which they are no longer frequent.
	quietAfter = 5 * time.Second
)

// adaptGCPercent adapts GOGC until the context ends. Go's default applies before: the heap grows fast. It returns the
// memory of the start, and of each time of frequent collections, to the operating system. An idle process is not woken.
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
		var frequency gcFrequency
		quiet := time.NewTimer(quietAfter)
		defer quiet.Stop()
		for {
			before := frequency.percent()
			select {
			case <-ctx.Done():
				return
			case <-collected:
				frequency.collected(time.Now())
				quiet.Reset(quietAfter)
			case <-quiet.C:
				frequency.frequent = false
			}
			now := frequency.percent()
			if now == before {
				continue
			}
			debug.SetGCPercent(now)
			if now == quietGCPercent {
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
			f()
			afterCollections(ctx, f)
		}
	}, ctx)
}

// gcFrequency tells whether collections are frequent. Its zero value has seen none.
type gcFrequency struct {
	last     time.Time // of the last collection
	frequent bool
}

// collected takes a collection into account.
func (f *gcFrequency) collected(now time.Time) {
	f.frequent = now.Sub(f.last) < quietAfter
	f.last = now
}

// percent is the growth of the heap between collections.
func (f *gcFrequency) percent() int {
	if f.frequent {
		return busyGCPercent
	}
	return quietGCPercent
}
