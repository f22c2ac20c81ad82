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
// many clients connect at once, the heap may grow by busyGCPercent: the garbage is gone soon, and a low percentage
// doubles the CPU time. It may not grow by more than busyGrowth then, unless that is less than quietGCPercent: clients
// that send much can make much garbage, too.
const (
	quietGCPercent = 25
	busyGCPercent  = 100
	busyGrowth     = 32 << 20 // bytes
	// quietAfter is the time without a collection after which they are no longer frequent.
	quietAfter = 5 * time.Second
)

// adaptGCPercent returns the memory of the start to the operating system, and adapts GOGC until the context ends. Go's
// default applies before: the heap grows fast. An idle process is not woken.
func adaptGCPercent(ctx context.Context) {
	limit := debug.SetMemoryLimit(-1) // of the container
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
		quiet := time.NewTimer(quietAfter)
		defer quiet.Stop()
		for {
			before := frequency.percent
			select {
			case <-ctx.Done():
				return
			case <-collected:
				m := readMemory()
				frequency.collected(time.Now(), m.live)
				debug.SetMemoryLimit(min(limit, m.limit(frequency.percent)))
				quiet.Reset(quietAfter)
			case <-quiet.C:
				frequency.percent = quietGCPercent
				debug.SetMemoryLimit(limit)
			}
			if now := frequency.percent; now != before {
				debug.SetGCPercent(now)
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

// memory is what the runtime uses, in bytes.
type memory struct {
	live uint64 // heap after the last collection
	rest uint64 // all but the heap
}

func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	m := memory{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
	for _, part := range samples[2:] {
		m.rest -= part.Value.Uint64()
	}
	return m
}

// limit is the memory limit with which the heap can grow by a percentage, and free memory is returned to the operating
// system instead of being kept.
func (m memory) limit(percent int) int64 { return int64(m.rest + m.live + m.live*uint64(percent)/100) }

// gcFrequency tells by which percentage the heap may grow, from the time between collections.
type gcFrequency struct {
	last    time.Time // of the last collection
	percent int
}

// collected takes a collection into account, after which the heap has a size in bytes.
func (f *gcFrequency) collected(now time.Time, live uint64) {
	frequent := now.Sub(f.last) < quietAfter
	f.last, f.percent = now, quietGCPercent
	if frequent {
		f.percent = max(quietGCPercent, min(busyGCPercent, int(100*busyGrowth/max(1, live))))
	}
}
