package xds

import (
	"slices"
	"time"
)

// subscription is what one client wants of one type, what it has, and what of
// that may be out of date.
type subscription struct {
	typeURL  string
	wildcard bool
	entries  map[string]entry    // names the client asked for or was sent
	named    int                 // entries asked for by name
	dirty    map[string]struct{} // to be compared with what is published
	gone     map[string]struct{} // to be removed once nothing refers to them any more
	owed     bool                // a response is due even if it is empty
	since    time.Time           // of the oldest change not yet sent
	flights  []flight            // responses without an answer yet, oldest first

	sentVersion, ackedVersion string
	nack                      *Nack
}

// entry is what the client knows about a name.
type entry struct {
	version string // that the client has, "" if none
	named   bool   // asked for by name, not only by wildcard
	told    bool   // the client heard that there is none
}

// flight is a response that the client has not answered.
type flight struct {
	nonce   string
	version string
	names   []string // of the resources in it
	changed time.Time
	sent    time.Time
}

// maxFlights bounds what is remembered about a client that never answers.
const maxFlights = 8

func newSubscription(typeURL string) *subscription {
	return &subscription{typeURL: typeURL, entries: map[string]entry{}}
}

// subscribe adds a name. The client gets an answer for it in any case, even if
// it was sent this version before: it may have dropped it meanwhile.
func (s *subscription) subscribe(name string, now time.Time) {
	e := s.entries[name]
	if !e.named {
		s.named++
	}
	s.entries[name] = entry{named: true}
	s.mark(name, now)
}

// resume notes a version that the client brought along from an earlier stream.
func (s *subscription) resume(name, version string, now time.Time) {
	e, known := s.entries[name]
	if !known && !s.wildcard {
		return // it has it, but does not want it
	}
	e.version = version
	s.entries[name] = e
	s.mark(name, now)
}

// unsubscribe takes back a name. If the wildcard still covers it, the client
// gets an answer, since it cannot know whether it does.
func (s *subscription) unsubscribe(name string, now time.Time) {
	e, ok := s.entries[name]
	if !ok || !e.named {
		return
	}
	s.named--
	if !s.wildcard {
		s.forget(name)
		return
	}
	s.entries[name] = entry{version: stale}
	s.mark(name, now)
}

// stale is a version that no resource has: the client gets the resource, or its removal.
const stale = "stale"

// setWildcard turns on the interest in all names, of which these are published.
func (s *subscription) setWildcard(published *typeState, now time.Time) {
	s.wildcard, s.owed = true, true
	for name, e := range s.entries {
		if !e.named {
			s.entries[name] = entry{version: stale} // asked again: sent again
			s.mark(name, now)
		}
	}
	if published != nil {
		for name := range published.resources {
			s.mark(name, now)
		}
	}
}

// dropWildcard leaves the names that were asked for.
func (s *subscription) dropWildcard() {
	s.wildcard = false
	for name, e := range s.entries {
		if !e.named {
			s.forget(name)
		}
	}
	for name := range s.dirty {
		if _, ok := s.entries[name]; !ok {
			delete(s.dirty, name)
		}
	}
}

func (s *subscription) forget(name string) {
	delete(s.entries, name)
	delete(s.dirty, name)
	delete(s.gone, name)
}

// mark notes that a name may have changed, and says whether the client cares.
func (s *subscription) mark(name string, now time.Time) bool {
	if _, known := s.entries[name]; !known && !s.wildcard {
		return false
	}
	if len(s.dirty) == 0 {
		s.since, s.dirty = now, map[string]struct{}{} // a new map, since maps do not shrink
	}
	s.dirty[name] = struct{}{}
	return true
}

// settle compares the dirty names with what is published: what is the same
// needs nothing, what has to go waits in gone. It returns the names that need a
// place in a response of the type's own step, sorted.
func (s *subscription) settle(published state) []string {
	deferred := removalStepOf(s.typeURL) != stepOf(s.typeURL)
	var names []string
	for name := range s.dirty {
		e, known := s.entries[name]
		r := published.get(s.typeURL, name)
		delete(s.gone, name)
		switch {
		case r != nil && r.Version != e.version:
			names = append(names, name)
		case r == nil && e.version != "" && deferred:
			if len(s.gone) == 0 {
				s.gone = map[string]struct{}{}
			}
			s.gone[name] = struct{}{}
			delete(s.dirty, name)
		case r == nil && (e.version != "" || known && e.named && !e.told):
			names = append(names, name)
		default:
			delete(s.dirty, name)
		}
	}
	slices.Sort(names)
	return names
}

// leaving returns the names to remove in the last steps, sorted.
func (s *subscription) leaving() []string {
	names := make([]string, 0, len(s.gone))
	for name := range s.gone {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// take puts names into a response until it has limit bytes, and notes them as sent.
func (s *subscription) take(names []string, published state, limit int, out *response) {
	size := 0
	for _, name := range names {
		r := published.get(s.typeURL, name)
		if r == nil {
			size += len(name) + 4
		} else {
			size += len(r.wire)
		}
		if size > limit && len(out.changed)+len(out.removed) > 0 {
			return // the rest stays dirty
		}
		e := s.entries[name]
		if r != nil {
			e.version, e.told = r.Version, false
			s.entries[name] = e
			out.changed = append(out.changed, r)
		} else {
			out.removed = append(out.removed, name)
			if e.named {
				s.entries[name] = entry{named: true, told: true}
			} else {
				delete(s.entries, name)
			}
		}
		delete(s.dirty, name)
		delete(s.gone, name)
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
