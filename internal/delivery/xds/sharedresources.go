package xds

import (
	"sync"
	"time"
)

// Shared are resources that several keys have. Server.Update changes them.
//
// A name that is removed keeps its number while a client has state for it. This is not counted, because clients of all
// keys would write the counters: the numbers of removed names are freed by a search once there are many.
type Shared struct {
	// parts are by type URL. To read them, one lock suffices: mu, publishing of the server, or that of a group. An update
	// holds all of them.
	parts  map[string]*part
	mu     sync.Mutex
	groups map[*group]struct{} // that have the resources; guarded by publishing of the server
}

// NewShared creates shared resources, in any order. Two resources of one type and name are an error.
func NewShared(resources ...*Resource) (*Shared, error) {
	s := &Shared{parts: map[string]*part{}, groups: map[*group]struct{}{}}
	for _, r := range resources {
		if _, again, changed := s.of(r.TypeURL).put(r); again != nil || !changed {
			return nil, duplicate(r)
		}
	}
	return s, nil
}

// part returns the part of a type, or nil. It requires the lock. The receiver may be nil.
func (s *Shared) part(typeURL string) *part {
	if s == nil {
		return nil
	}
	return s.parts[typeURL]
}

// of returns the part of a type, and creates it if needed.
func (s *Shared) of(typeURL string) *part {
	p := s.parts[typeURL]
	if p == nil {
		p = &part{}
		s.parts[typeURL] = p
	}
	return p
}

// Update is a change of some shared resources. A resource that is changed and removed is changed.
type Update struct {
	Changed []*Resource
	Removed []Ref
}

// sharedChange is one change of shared resources.
type sharedChange struct {
	typeURL string
	part    *part
	number  uint32
	before  *Resource // nil if there was none
}

// apply applies an update, and returns the changes.
func (s *Shared) apply(u *Update) (changes []sharedChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range u.Removed {
		if p := s.parts[ref.TypeURL]; p != nil {
			if i, before := p.remove(ref.Name); before != nil {
				changes = append(changes, sharedChange{ref.TypeURL, p, sharedNumber(i), before})
			}
		}
	}
	for _, r := range u.Changed {
		p := s.of(r.TypeURL)
		if i, before, changed := p.put(r); changed {
			changes = append(changes, sharedChange{r.TypeURL, p, sharedNumber(i), before})
		}
	}
	return changes
}

// wakeBatch is the number of streams that Update wakes at once: a wake has a fixed cost, and the first streams send
// while others are marked.
const wakeBatch = 32

// Update changes and removes some shared resources, at a cost proportional to the change and the number of clients. It
// returns the number of keys that have the resources. Time to ACK is measured from since, as in Publish. A shared
// resource replaces that of a key with the same name.
func (s *Server) Update(shared *Shared, u *Update, since time.Time) (keys int) {
	since = orNow(since)
	s.publishing.Lock()
	defer s.publishing.Unlock()
	// A client has what is published, but for what is marked: no client may see an update before it is marked for it.
	for g := range shared.groups {
		g.mu.Lock()
	}
	changes := shared.apply(u)
	shared.freeUnused()
	var marked []change
	var touched []*stream
	for g := range shared.groups {
		marked = g.state.follow(changes, g.sessions, marked[:0])
		touched = g.markChanged(touched, marked, false, since)
		g.mu.Unlock()
		if len(touched) >= wakeBatch {
			s.wakeAll(touched)
			touched = touched[:0]
		}
	}
	s.wakeAll(touched)
	return len(shared.groups)
}

// follow appends the changes of shared resources as the clients of the key see them. Names that are shared from now on
// may have been own ones.
func (s *state) follow(all []sharedChange, sessions func() []*session, to []change) []change {
	var clients []*session
	for _, c := range all {
		t := s.tables[c.typeURL]
		if t == nil {
			continue // no client subscribes to the type
		}
		t.shared = c.part // it may be the first resource of the type
		if c.before == nil {
			if clients == nil {
				clients = sessions()
			}
			c.before = t.share(c.number, clients)
		}
		to = append(to, change{t, c.number, c.before})
	}
	return to
}

// minPlaceholders is the number of removed names from which unused ones are searched.
const minPlaceholders = 64

// freeUnused frees the numbers of removed names that no client has state for, if there are many. It requires the locks
// of all groups.
func (s *Shared) freeUnused() {
	for typeURL, p := range s.parts {
		if p.placeholders < max(minPlaceholders, p.searchFrom) {
			continue
		}
		unused := map[uint32]bool{}
		for i, one := range p.slots {
			if one.name != "" && one.resource == nil {
				unused[sharedNumber(uint32(i))] = true
			}
		}
		for g := range s.groups {
			if t := g.state.tables[typeURL]; t != nil && t.shared == p {
				for _, st := range g.streams {
					st.session.dropUsed(t, unused)
				}
			}
		}
		for n := range unused {
			p.drop(n >> 1)
		}
		p.searchFrom = 2 * p.placeholders
	}
}

// dropUsed removes the numbers that the client has state for from a set.
func (s *session) dropUsed(t *table, unused map[uint32]bool) {
	for i := range s.subs {
		if sub := &s.subs[i]; sub.table == t {
			for n := range unused {
				if sub.has(n) {
					delete(unused, n)
				}
			}
		}
	}
}
