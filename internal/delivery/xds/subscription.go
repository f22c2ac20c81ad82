package xds

import (
	"slices"
	"time"
)

// subscription is what one client wants of one type, what it has, and what of
// that may be out of date. Names are their numbers in the table. What every
// change and answer needs lies together: there are many clients.
type subscription struct {
	table   *table
	entries []entry   // by number; the zero entry is none
	dirty   versions  // to be compared with what is published
	since   time.Time // of the oldest change not yet sent
	flights []flight  // responses without an answer yet, oldest first
	single  [1]flight // room for flights, of which there is rarely more than one

	sentVersion, ackedVersion string

	owed     bool     // a response is due even if it is empty
	gone     versions // to be removed once nothing refers to them any more
	world    *world   // what only the state-of-the-world variant needs; nil in the other
	typeURL  string
	step     step // of additions and changes
	removal  step
	wildcard bool
	named    int                 // entries asked for by name
	urgent   map[uint32]struct{} // of dirty: a cluster that was sent waits for them
	nack     *Nack
	refused  map[string]string // version by name, of what the client refused and was not sent anew
}

// entry is what the client knows about a name.
type entry uint8

const (
	entryNamed entry = 1 << iota // asked for by name, not only by wildcard
	entryTold                    // named, and the client heard that there is none
	entryHeld                    // the client has it: the version of dirty or gone if it is there, else the published one
)

func newSubscription(typeURL string, t *table) *subscription {
	t.users++
	s := &subscription{typeURL: typeURL, step: stepOf(typeURL), removal: removalStepOf(typeURL), table: t}
	s.flights = s.single[:0]
	return s
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
	s.dirty.remove(n)
	delete(s.urgent, n)
	s.gone.remove(n)
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
		s.dirty.remove(n)
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
	s.dirty.expect(len(s.table.slots))
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
	for n := range s.dirty.all() {
		if s.entry(n) == 0 {
			s.dirty.remove(n)
		}
	}
}

// mark notes that a resource changed, and says whether the client cares.
func (s *subscription) mark(c change, since time.Time) bool {
	if !s.wildcard && s.entry(c.number) == 0 {
		return false
	}
	has, known := s.dirty.get(c.number)
	if !known {
		if has, known = s.gone.get(c.number); !known {
			has = c.before
		}
	}
	s.touch(c.number, has, since)
	return true
}

// doubt notes that what the client has of a name, if anything, is no version that we know.
func (s *subscription) doubt(n uint32, since time.Time) { s.touch(n, nil, since) }

func (s *subscription) touch(n uint32, has *Resource, since time.Time) {
	if s.dirty.len() == 0 || since.Before(s.since) {
		s.since = since
	}
	s.dirty.set(n, has)
}
