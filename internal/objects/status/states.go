package status

import (
	"maps"
	"sync"
	"time"

	"anymesh.dev/anymesh/model"
)

// states is what the writer has to remember about objects. Most objects have nothing: their status is written, and
// their findings have not changed since. It is safe for concurrent use.
type states struct {
	mu sync.Mutex
	// unsettled are the objects with changes of findings that are not reconciled.
	unsettled map[model.ObjectRef]unsettled
	// written are the times of recent writes.
	written map[model.ObjectRef]time.Time
	sweepAt int // number of written objects at which old times are removed
	// reported are the errors of the last event about an object without conditions, unless they are empty.
	reported map[model.ObjectRef]string
}

// unsettled are the times of the first and the last change of the findings that is not reconciled.
type unsettled struct {
	generation  int64 // of the object
	first, last time.Time
}

// minSwept is the least number of written objects at which old times are removed.
const minSwept = 64

func newStates() *states {
	return &states{
		unsettled: map[model.ObjectRef]unsettled{}, written: map[model.ObjectRef]time.Time{},
		reported: map[model.ObjectRef]string{}, sweepAt: minSwept,
	}
}

// remove removes what is known about an object.
func (s *states) remove(ref model.ObjectRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled(ref)
	delete(s.written, ref)
	delete(s.reported, ref)
}

// objectChanged settles the findings of an object with a new generation: its author waits for the status.
func (s *states) objectChanged(ref model.ObjectRef, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, is := s.unsettled[ref]; is && u.generation != generation {
		s.settled(ref)
	}
}

// findingsChanged records a change of findings.
func (s *states) findingsChanged(ref model.ObjectRef, generation int64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, is := s.unsettled[ref]
	if !is {
		u = unsettled{generation: generation, first: now}
	}
	u.last = now
	s.unsettled[ref] = u
}

// wait returns how long a write has to wait because of the last one, or because the findings have to stay as they are.
func (s *states) wait(ref model.ObjectRef, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.written[ref].Add(minWriteInterval).Sub(now)
	if u, is := s.unsettled[ref]; is {
		wait = max(wait, min(u.last.Add(findingsDelay).Sub(now), u.first.Add(maxFindingsDelay).Sub(now)))
	}
	return wait
}

// markSettled marks the changed findings as reconciled.
func (s *states) markSettled(ref model.ObjectRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled(ref)
}

// settled requires the lock. A map never shrinks: after a change of all findings, it is dropped.
func (s *states) settled(ref model.ObjectRef) {
	if _, is := s.unsettled[ref]; !is {
		return
	}
	if delete(s.unsettled, ref); len(s.unsettled) == 0 {
		s.unsettled = map[model.ObjectRef]unsettled{}
	}
}

// markWritten records the time of a write, and forgets those that no write has to wait for.
func (s *states) markWritten(ref model.ObjectRef, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.written) >= s.sweepAt {
		maps.DeleteFunc(s.written, func(_ model.ObjectRef, at time.Time) bool { return now.Sub(at) >= minWriteInterval })
		s.sweepAt = max(minSwept, 2*len(s.written))
	}
	s.written[ref] = now
}

// wasReported reports whether these errors are those of the last event about an object.
func (s *states) wasReported(ref model.ObjectRef, errors string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reported[ref] == errors
}

// markReported records the errors of an event.
func (s *states) markReported(ref model.ObjectRef, errors string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors == "" {
		delete(s.reported, ref)
		return
	}
	s.reported[ref] = errors
}
