package xds

import (
	"slices"
	"strings"
	"time"
)

// subscription is what one client wants of one type, what it has, and what of
// that may be out of date. Names are their numbers in the table.
type subscription struct {
	typeURL  string
	table    *table
	wildcard bool
	entries  []entry             // by number; the zero entry is none
	named    int                 // entries asked for by name
	dirty    map[uint32]struct{} // to be compared with what is published
	gone     map[uint32]struct{} // to be removed once nothing refers to them any more
	owed     bool                // a response is due even if it is empty
	since    time.Time           // of the oldest change not yet sent
	flights  []flight            // responses without an answer yet, oldest first

	sentVersion, ackedVersion string
	nack                      *Nack
	refused                   map[string]string // version by name, of what the client refused and was not sent anew
}

// entry is what the client knows about a name: flags, and the stamp of the
// version that it has.
type entry uint64

const (
	entryNamed  entry = 1 << 63 // asked for by name, not only by wildcard
	entryTold   entry = 1 << 62 // named, and the client heard that there is none
	entryHeld   entry = 1 << 61 // the client has it, in the version of the stamp
	versionBits       = 1<<61 - 1

	// entryStale is held in a version that no resource has: the client gets the
	// resource, or its removal.
	entryStale = entryHeld
)

func holds(r *Resource) entry { return entryHeld | entry(r.stamp) }

// flight is a response that the client has not answered.
type flight struct {
	nonce     string
	version   string
	resources []*Resource // changed by it
	changed   time.Time   // when the oldest change in it came in
	sent      time.Time
}

// maxFlights bounds what is remembered about a client that never answers.
const maxFlights = 8

func newSubscription(typeURL string, t *table) *subscription {
	t.users++
	return &subscription{typeURL: typeURL, table: t}
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
	s.mark(n, now)
}

// resume notes a version that the client brought along from an earlier stream.
func (s *subscription) resume(name, version string, now time.Time) {
	n, known := s.table.numbers[name]
	if !s.wildcard && (!known || s.entry(n) == 0) {
		return // it has it, but does not want it
	}
	n = s.table.number(name)
	s.set(n, s.entry(n)&entryNamed|entryHeld|entry(stamp(version)))
	s.mark(n, now)
}

// again has a resource sent even though the client has it in this version.
func (s *subscription) again(name string, now time.Time) {
	n, known := s.table.numbers[name]
	if !known || s.entry(n)&entryHeld == 0 {
		return
	}
	s.set(n, s.entry(n)&entryNamed|entryStale)
	s.mark(n, now)
}

// unsubscribe takes back a name. If the wildcard still covers it, the client
// gets an answer, since it cannot know whether it does.
func (s *subscription) unsubscribe(name string, now time.Time) {
	n, known := s.table.numbers[name]
	if !known || s.entry(n)&entryNamed == 0 {
		return
	}
	if !s.wildcard {
		s.forget(n)
		return
	}
	s.set(n, entryStale)
	s.mark(n, now)
}

// setWildcard turns on the interest in all names.
func (s *subscription) setWildcard(now time.Time) {
	s.wildcard, s.owed = true, true
	for i := range s.table.slots {
		n := uint32(i)
		if e := s.entry(n); e != 0 && e&entryNamed == 0 {
			s.set(n, entryStale) // asked again: sent again
		}
		s.mark(n, now)
	}
}

// dropWildcard leaves the names that were asked for.
func (s *subscription) dropWildcard() {
	s.wildcard = false
	for i, e := range s.entries {
		if e&entryNamed == 0 {
			s.forget(uint32(i))
		}
	}
	for n := range s.dirty {
		if s.entry(n) == 0 {
			delete(s.dirty, n)
		}
	}
}

// mark notes that a name may have changed, and says whether the client cares.
func (s *subscription) mark(n uint32, since time.Time) bool {
	if !s.wildcard && s.entry(n) == 0 {
		return false
	}
	if len(s.dirty) == 0 {
		s.since, s.dirty = since, map[uint32]struct{}{} // a new map, since maps do not shrink
	} else if since.Before(s.since) {
		s.since = since
	}
	s.dirty[n] = struct{}{}
	return true
}

// settle compares the dirty names with what is published: what is the same
// needs nothing, what has to go waits in gone. It returns what needs a place in
// a response of the type's own step, ordered by name.
func (s *subscription) settle() []uint32 {
	if len(s.dirty) == 0 {
		return nil
	}
	deferred := removalStepOf(s.typeURL) != stepOf(s.typeURL)
	todo := make([]uint32, 0, len(s.dirty))
	for n := range s.dirty {
		e, r := s.entry(n), s.table.slots[n].resource
		delete(s.gone, n)
		switch {
		case r != nil && e&^entryNamed != holds(r):
			todo = append(todo, n)
		case r == nil && e&entryHeld != 0 && deferred:
			if s.gone == nil {
				s.gone = map[uint32]struct{}{}
			}
			s.gone[n] = struct{}{}
			delete(s.dirty, n)
		case r == nil && (e&entryHeld != 0 || e&entryNamed != 0 && e&entryTold == 0):
			todo = append(todo, n)
		default:
			delete(s.dirty, n)
		}
	}
	s.sort(todo)
	return todo
}

// leaving returns what to remove in the last steps, ordered by name.
func (s *subscription) leaving() []uint32 {
	todo := make([]uint32, 0, len(s.gone))
	for n := range s.gone {
		todo = append(todo, n)
	}
	s.sort(todo)
	return todo
}

func (s *subscription) sort(numbers []uint32) {
	slices.SortFunc(numbers, func(a, b uint32) int {
		return strings.Compare(s.table.slots[a].name, s.table.slots[b].name)
	})
}

// take puts names into a response until it has limit bytes, and notes them as sent.
func (s *subscription) take(todo []uint32, limit int, out *response) {
	size := 0
	for _, n := range todo {
		r, name := s.table.slots[n].resource, s.table.slots[n].name
		if r == nil {
			size += len(name) + 4
		} else {
			size += len(r.wire)
		}
		if size > limit && len(out.changed)+len(out.removed) > 0 {
			return // the rest stays dirty
		}
		delete(s.dirty, n)
		delete(s.gone, n)
		named := s.entry(n) & entryNamed
		switch {
		case r != nil:
			out.changed = append(out.changed, r)
			s.set(n, named|holds(r))
		case named != 0:
			out.removed = append(out.removed, name)
			s.set(n, entryNamed|entryTold)
		default:
			out.removed = append(out.removed, name)
			s.set(n, 0)
		}
	}
	if len(s.dirty) == 0 {
		s.dirty = nil
	}
}

// waiting says until when the answer to an earlier response is waited for.
func (s *subscription) waiting(patience time.Duration) (until time.Time, ok bool) {
	if len(s.flights) == 0 {
		return time.Time{}, false
	}
	return s.flights[len(s.flights)-1].sent.Add(patience), true
}

func (s *subscription) launch(f flight) {
	if len(s.flights) == maxFlights {
		s.flights = slices.Delete(s.flights, 0, 1)
	}
	s.flights = append(s.flights, f)
}

// land finds the response that a nonce answers. Responses before it count as
// answered, too.
func (s *subscription) land(nonce string) (flight, bool) {
	i := slices.IndexFunc(s.flights, func(f flight) bool { return f.nonce == nonce })
	if i < 0 {
		return flight{}, false
	}
	f := s.flights[i]
	s.flights = slices.Delete(s.flights, 0, i+1)
	return f, true
}
