package xds

import (
	"slices"
	"time"
)

// subscription is what one client wants of one type, what it has, and what of
// that may be out of date. Names are their numbers in the table.
type subscription struct {
	typeURL  string
	step     step // of additions and changes
	removal  step
	table    *table
	wildcard bool
	entries  []entry             // by number; the zero entry is none
	named    int                 // entries asked for by name
	dirty    versions            // to be compared with what is published
	grown    bool                // dirty has had many: maps do not shrink
	urgent   map[uint32]struct{} // of dirty: a cluster that was sent waits for them
	gone     versions            // to be removed once nothing refers to them any more
	owed     bool                // a response is due even if it is empty
	since    time.Time           // of the oldest change not yet sent
	flights  []flight            // responses without an answer yet, oldest first
	world    *world              // what only the state-of-the-world variant needs; nil in the other

	sentVersion, ackedVersion string
	nack                      *Nack
	refused                   map[string]string // version by name, of what the client refused and was not sent anew
}

// entry is what the client knows about a name.
type entry uint8

const (
	entryNamed entry = 1 << iota // asked for by name, not only by wildcard
	entryTold                    // named, and the client heard that there is none
	entryHeld                    // the client has it: the version of dirty or gone if it is there, else the published one
)

// versions are those that the client has of resources that changed; nil is one
// that no resource has. Equal resources are one, so pointers can be compared.
type versions map[uint32]*Resource

// few is what the smallest map has room for.
const few = 8

func newSubscription(typeURL string, t *table) *subscription {
	t.users++
	return &subscription{typeURL: typeURL, step: stepOf(typeURL), removal: removalStepOf(typeURL), table: t}
}

func (s *subscription) entry(n uint32) entry {
	if int(n) < len(s.entries) {
		return s.entries[n]
	}
	return 0
}

// set replaces an entry, and keeps count.
func (s *subscription) set(n uint32, e entry) {
	if int(n) >= len(s.entries) {
		// As many as the table has: it is published before it is asked for.
		s.entries = append(s.entries, make([]entry, len(s.table.slots)-len(s.entries))...)
	}
	old := s.entries[n]
	s.entries[n] = e
	if old&entryNamed != 0 {
		s.named--
	}
	if e&entryNamed != 0 {
		s.named++
	}
	switch {
	case old == 0 && e != 0:
		s.table.slots[n].refs++
	case old != 0 && e == 0:
		s.table.slots[n].refs--
		s.table.tidy(n)
	}
}

// forget drops all that is known about a name.
func (s *subscription) forget(n uint32) {
	delete(s.dirty, n)
	delete(s.urgent, n)
	delete(s.gone, n)
	s.set(n, 0)
}

func (s *subscription) close() {
	for n, e := range s.entries {
		if e != 0 {
			s.set(uint32(n), 0)
		}
	}
}

// subscribe adds a name. The client gets an answer for it in any case, even if
// it was sent this version before: it may have dropped it meanwhile.
func (s *subscription) subscribe(name string, now time.Time) {
	n := s.table.number(name)
	s.set(n, entryNamed)
	s.doubt(n, now)
}

// resume notes a version that the client brought along from an earlier stream.
func (s *subscription) resume(name, version string, now time.Time) {
	n, known := s.table.find(name)
	if !s.wildcard && (!known || s.entry(n) == 0) {
		return // it has it, but does not want it
	}
	n = s.table.number(name)
	s.set(n, s.entry(n)&entryNamed|entryHeld)
	if r := s.table.resource(n); r != nil && r.Version == version {
		delete(s.dirty, n)
		return
	}
	s.doubt(n, now)
}

// again has a resource sent even though the client has it in this version.
func (s *subscription) again(name string, now time.Time) {
	if n, known := s.table.find(name); known && s.entry(n)&entryHeld != 0 {
		s.set(n, s.entry(n)&entryNamed|entryHeld)
		s.doubt(n, now)
		if s.urgent == nil {
			s.urgent = map[uint32]struct{}{}
		}
		s.urgent[n] = struct{}{}
	}
}

// onlyUrgent leaves what a cluster waits for that was sent.
func (s *subscription) onlyUrgent(todo []uint32) []uint32 {
	return slices.DeleteFunc(todo, func(n uint32) bool { _, is := s.urgent[n]; return !is })
}

// unsubscribe takes back a name. If the wildcard still covers it, the client
// gets an answer, since it cannot know whether it does.
func (s *subscription) unsubscribe(name string, now time.Time) {
	n, known := s.table.find(name)
	if !known || s.entry(n)&entryNamed == 0 {
		return
	}
	if !s.wildcard {
		s.forget(n)
		return
	}
	s.set(n, entryHeld)
	s.doubt(n, now)
}

// setWildcard turns on the interest in all names. What was asked for by name and is there is not sent again.
func (s *subscription) setWildcard(now time.Time) {
	s.wildcard, s.owed = true, true
	s.expect(len(s.table.slots))
	for i, slot := range s.table.slots {
		n := uint32(i)
		if e := s.entry(n); slot.resource != nil && e&entryNamed == 0 {
			s.doubt(n, now) // asked again: sent again
		}
	}
}

// dropWildcard leaves the names that were asked for.
func (s *subscription) dropWildcard() {
	s.wildcard = false
	for i, e := range s.entries {
		if e != 0 && e&entryNamed == 0 {
			s.forget(uint32(i))
		}
	}
	for n := range s.dirty {
		if s.entry(n) == 0 {
			delete(s.dirty, n)
		}
	}
}

// mark notes that a resource changed, and says whether the client cares.
func (s *subscription) mark(c change, since time.Time) bool {
	if !s.wildcard && s.entry(c.number) == 0 {
		return false
	}
	if _, known := s.dirty[c.number]; known {
		s.touch(c.number, s.dirty[c.number], since)
		return true
	}
	has := c.before
	if kept, leaving := s.gone[c.number]; leaving {
		has = kept
	}
	s.touch(c.number, has, since)
	return true
}

// expect makes room for names that are about to be noted: a map that grows is filled several times.
func (s *subscription) expect(names int) {
	if names = min(names, len(s.table.slots)); names > few && s.dirty == nil {
		s.dirty, s.grown = make(versions, names), true
	}
}

// doubt notes that what the client has of a name, if anything, is no version that we know.
func (s *subscription) doubt(n uint32, since time.Time) { s.touch(n, nil, since) }

func (s *subscription) touch(n uint32, has *Resource, since time.Time) {
	if s.dirty == nil {
		s.dirty = versions{}
	}
	if len(s.dirty) == 0 || since.Before(s.since) {
		s.since = since
	}
	s.dirty[n] = has
	s.grown = s.grown || len(s.dirty) > few
}
