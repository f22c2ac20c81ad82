package status

import (
	"sync"
	"time"

	"anymesh.dev/anymesh/model"
)

// warningDelay is the time for which a fault must last until it has a Warning event. Its condition is written at once.
// Manifests that are applied in any order have faults for a moment, until the objects that they refer to exist.
const warningDelay = 5 * time.Second

// pendingWarnings are the faults that have no event yet, by the type of the condition; objects without conditions have
// the type "".
type pendingWarnings struct {
	mu    sync.Mutex
	since map[model.ObjectRef]map[string]time.Time
}

// add adds a fault that begins now, unless it is pending.
func (p *pendingWarnings) add(ref model.ObjectRef, condition string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since == nil {
		p.since = map[model.ObjectRef]map[string]time.Time{}
	}
	if p.since[ref] == nil {
		p.since[ref] = map[string]time.Time{}
	}
	if _, pending := p.since[ref][condition]; !pending {
		p.since[ref][condition] = time.Now()
	}
}

// remove removes a fault, and reports whether it was pending.
func (p *pendingWarnings) remove(ref model.ObjectRef, condition string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, pending := p.since[ref][condition]
	if delete(p.since[ref], condition); len(p.since[ref]) == 0 {
		delete(p.since, ref)
	}
	return pending
}

// removeAll removes the faults of an object that is deleted.
func (p *pendingWarnings) removeAll(ref model.ObjectRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, ref)
}

// takeDue removes a fault that has lasted long enough, and reports whether there was one.
func (p *pendingWarnings) takeDue(ref model.ObjectRef, condition string) bool {
	p.mu.Lock()
	since, pending := p.since[ref][condition]
	p.mu.Unlock()
	return pending && time.Since(since) >= warningDelay && p.remove(ref, condition)
}

// wait returns the time until the next fault of an object is due; 0 without any.
func (p *pendingWarnings) wait(ref model.ObjectRef) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next time.Duration
	for _, since := range p.since[ref] {
		if left := max(time.Until(since.Add(warningDelay)), time.Millisecond); next == 0 || left < next {
			next = left
		}
	}
	return next
}
