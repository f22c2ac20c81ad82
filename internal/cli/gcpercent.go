package cli

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
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
	// gcSampleInterval is the time between two looks at the number of collections.
	gcSampleInterval = 250 * time.Millisecond
)

// adaptGCPercent returns the memory of the start to the operating system, and adapts GOGC until the context ends. Go's
// default applies before: the heap grows fast.
func adaptGCPercent(ctx context.Context) {
	debug.SetGCPercent(quietGCPercent)
	debug.FreeOSMemory()
	go func() {
		collections := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}}
		metrics.Read(collections)
		frequency := gcFrequency{collections: collections[0].Value.Uint64()}
		tick := time.NewTicker(gcSampleInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				metrics.Read(collections)
				if percent, changed := frequency.sample(now, collections[0].Value.Uint64()); changed {
					debug.SetGCPercent(percent)
				}
			}
		}
	}()
}

// gcFrequency tells whether collections are frequent. Its zero value has seen none.
type gcFrequency struct {
	collections uint64
	last        time.Time // at which the number of collections had changed
	frequent    bool
}

// sample takes the number of collections until now, and returns the percentage and whether it changed.
func (f *gcFrequency) sample(now time.Time, collections uint64) (percent int, changed bool) {
	recent := now.Sub(f.last) < quietAfter
	before := f.frequent
	if collections != f.collections {
		f.frequent = recent
		f.collections, f.last = collections, now
	} else if !recent {
		f.frequent = false
	}
	if f.frequent {
		return busyGCPercent, !before
	}
	return quietGCPercent, before
}
