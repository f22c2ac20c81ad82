package xds

import (
	"iter"
	"slices"
	"time"
)

// subscription is the state of one type on one stream: the names that the client subscribes to, the versions that it
// has, and the names to send. Names are represented by their numbers in the table. The fields that each change and
// each ACK reads come first, for cache locality.
type subscription struct {
	table *table
	// entries are those for numbers of shared and own resources, by half the number; zero means no entry
	entries [2][]entry
	// names to compare with the published resources, with the versions that the client has
	dirty       versions
	since       time.Time           // time of the oldest change that is not yet sent
	inflight    []inflightResponse  // responses without ACK or NACK, oldest first
	inflightBuf [1]inflightResponse // backing array of inflight, which rarely has more than one element

	sentVersion, ackedVersion string

	mustRespond bool       // a response is required even if it is empty
	removals    versions   // removals that wait until no resource refers to them
	sotw        *sotwState // state-of-the-world state; nil in the incremental variant
	typeURL     string
	step        step // step of additions and changes
	removalStep step
	wildcard    bool
	collections []collection // that the client subscribes to
	namedCount  int          // number of entries with entryNamed
	lastNack    *Nack
	rejected    map[string]string // NACKed resources that were not sent since: version by name
	budget      *subscriptionBudget
}

// entry is the state of the client for one name.
type entry uint8

const (
	entryNamed       entry = 1 << iota // subscribed to by name, not only by wildcard
	entryAbsenceSent                   // named, and the client was informed that the resource does not exist
	// the client has the resource, in the version of dirty or removals if present, else in the published version
	entrySent
	entryPlaceholder // the resource was not published when the entry was added, so that the table stores its name
)

// cost is what an entry costs of the budget, in bytes.
func (s *subscription) cost(n uint32, e entry) (bytes int) {
	if e&entryNamed != 0 {
		bytes += namedCost
	}
	if e&entryPlaceholder != 0 {
		bytes += placeholderCost + len(s.table.name(n))
	}
	return bytes
}

func newSubscription(typeURL string, t *table) *subscription {
	t.subscribers++
	s := &subscription{typeURL: typeURL, step: stepOf(typeURL), removalStep: removalStepOf(typeURL), table: t}
	s.inflight = s.inflightBuf[:0]
	return s
}

func (s *subscription) entry(n uint32) entry {
	if part := s.entries[n&1]; int(n>>1) < len(part) {
		return part[n>>1]
	}
	return 0
}

// place returns the place of an entry.
func (s *subscription) place(n uint32) *entry {
	part := &s.entries[n&1]
	if more := s.table.size(n) - len(*part); int(n>>1) >= len(*part) {
		// Grow to the size of the table: resources are usually published before the subscription.
		*part = append(*part, make([]entry, more)...)
	}
	return &(*part)[n>>1]
}

// all lists the entries with their numbers. The one that is yielded may be changed meanwhile.
func (s *subscription) all() iter.Seq2[uint32, entry] {
	return func(yield func(uint32, entry) bool) {
		for which, part := range s.entries {
			for i, e := range part {
				if e != 0 && !yield(uint32(i<<1|which), e) {
					return
				}
			}
		}
	}
}

// find returns the number of a name. A name without resource may have a number that only other clients use.
func (s *subscription) find(name string) (uint32, bool) {
	if n, known := s.table.findShared(name); known && (s.table.resource(n) != nil || s.has(n)) {
		return n, true
	}
	return s.table.findOwn(name)
}

// number returns the number of a name, and assigns one if needed.
func (s *subscription) number(name string) uint32 {
	if n, known := s.find(name); known {
		return n
	}
	return s.table.placeholder(name)
}

// set replaces an entry and updates the counters.
func (s *subscription) set(n uint32, e entry) {
	place := s.place(n)
	old := *place
	switch {
	case e == 0:
	case old != 0:
		e |= old & entryPlaceholder
	case s.table.resource(n) == nil:
		e |= entryPlaceholder
	}
	if before, now := s.cost(n, old), s.cost(n, e); before != now {
		s.budget.add(now - before)
	}
	*place = e
	if old&entryNamed != 0 {
		s.namedCount--
	}
	if e&entryNamed != 0 {
		s.namedCount++
	}
	switch {
	case old == 0 && e != 0:
		s.table.addRef(n)
	case old != 0 && e == 0:
		s.table.removeRef(n)
		s.table.freeIfUnused(n)
	}
}

// forget removes all state of a name.
func (s *subscription) forget(n uint32) {
	s.dirty.remove(n)
	s.removals.remove(n)
	s.set(n, 0)
}

func (s *subscription) close() {
	for n := range s.all() {
		s.set(n, 0)
	}
	for _, c := range s.collections {
		s.budget.add(-collectionCost - len(c))
	}
}

// subscribe adds a name. The client receives a response for it even if it was sent the same version before: it may
// have dropped the resource since.
func (s *subscription) subscribe(name string, now time.Time) {
	n := s.number(name)
	s.set(n, entryNamed)
	s.markUnknown(n, now)
}

// setInitialVersion records a version of initial_resource_versions.
func (s *subscription) setInitialVersion(name, version string, now time.Time) {
	n, known := s.find(name)
	if (!known || s.entry(n) == 0) && !s.selects(name) {
		return // the client has the resource but does not subscribe to it
	}
	n = s.number(name)
	s.set(n, s.entry(n)&entryNamed|entrySent)
	if r := s.table.resource(n); r != nil && r.Version == version {
		s.dirty.remove(n)
		return
	}
	s.markUnknown(n, now)
}

// resend marks a resource for sending although the client has the same version, or knows that it does not exist.
func (s *subscription) resend(name string, now time.Time) {
	if n, known := s.find(name); known && s.entry(n)&(entrySent|entryAbsenceSent) != 0 {
		s.set(n, s.entry(n)&^entryAbsenceSent)
		s.markUnknown(n, now)
	}
}

// filterWarming keeps the names that a warming cluster may wait for: the client asked for them, or they are sent again.
func (s *subscription) filterWarming(todo []uint32) []uint32 {
	return slices.DeleteFunc(todo, func(n uint32) bool { return !s.dirty.unknown.has(n) })
}

// unsubscribe removes a name. If the wildcard still matches it, the client receives a response, since it cannot know
// whether the resource exists.
func (s *subscription) unsubscribe(name string, now time.Time) {
	n, known := s.find(name)
	if !known || s.entry(n)&entryNamed == 0 {
		return
	}
	if !s.selects(name) {
		s.forget(n)
		return
	}
	s.set(n, entrySent)
	s.markUnknown(n, now)
}

// markChanged marks a changed resource as dirty, and reports whether the client subscribes to it.
func (s *subscription) markChanged(c change, since time.Time) bool {
	if s.entry(c.number) == 0 && !s.wildcard && (len(s.collections) == 0 || !s.selects(c.name())) {
		return false
	}
	has, known := s.dirty.get(c.number)
	if !known {
		if has, known = s.removals.get(c.number); !known {
			has = c.before
		}
	}
	s.markDirty(c.number, has, since)
	return true
}

// markUnknown marks a name as dirty whose version at the client, if any, is unknown.
func (s *subscription) markUnknown(n uint32, since time.Time) { s.markDirty(n, nil, since) }

func (s *subscription) markDirty(n uint32, has *Resource, since time.Time) {
	if s.dirty.len() == 0 || since.Before(s.since) {
		s.since = since
	}
	s.dirty.set(n, has)
}
