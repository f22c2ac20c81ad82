package delivery

import (
	"iter"
	"sync"
	"time"

	"anymesh.dev/anymesh/model"
)

// keepUnused is the time for which the resources of a workload are kept after its last client disconnected: a sidecar
// reconnects to the same or another replica within seconds.
const keepUnused = time.Minute

// Connected implements xds.Observer: it publishes a workload whose first client connected. A workload that is not known
// yet is published with its first change.
func (d *Deliverer) Connected(key string) {
	d.mu.Lock()
	changed := false
	if w := d.workloads[parseKey(key)]; w != nil && w.outbound == nil {
		changed = d.syncWorkload(w.key, time.Time{})
	}
	d.mu.Unlock()
	if changed {
		d.changed()
	}
}

// dropLater drops the resources of a workload without clients after keepUnused, unless one connects meanwhile.
func (d *Deliverer) dropLater(key string) {
	if d.publisher.HasClients(key) {
		return
	}
	d.unused.start(key, func() { d.dropWithoutClients(key) })
}

// dropWithoutClients drops the resources of a workload, if it has no clients.
func (d *Deliverer) dropWithoutClients(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.workloads[parseKey(key)]; w != nil && d.publisher.Unpublish(key) {
		d.unpublish(w)
	}
}

// unusedTimers are the timers of workloads whose last client disconnected, by key. They have their own lock, so that a
// disconnect does not wait for a delivery.
type unusedTimers struct {
	mu    sync.Mutex
	byKey map[string]*time.Timer
}

// start calls f after keepUnused, in place of the previous call for the key.
func (u *unusedTimers) start(key string, f func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if before := u.byKey[key]; before != nil {
		before.Stop()
	}
	var timer *time.Timer
	timer = time.AfterFunc(keepUnused, func() {
		u.mu.Lock()
		replaced := u.byKey[key] != timer
		if !replaced {
			delete(u.byKey, key)
		}
		u.mu.Unlock()
		if !replaced {
			f()
		}
	})
	u.byKey[key] = timer
}

// resourcesOf lists the published resources of a workload.
func (d *Deliverer) resourcesOf(key model.Key) iter.Seq[resource] {
	return func(yield func(resource) bool) {
		w := d.workloads[key]
		if w == nil || w.outbound == nil {
			return
		}
		for _, r := range w.own {
			if !yield(r) {
				return
			}
		}
		for part := range w.outbound.all() {
			for _, r := range part {
				if !yield(r) {
					return
				}
			}
		}
	}
}
