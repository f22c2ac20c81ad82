package xds

// state holds the published resources of one key.
type state struct {
	shared *Shared // nil if the key shares none
	// tables are those of types that a client subscribes to, or that the key has resources of its own of; by type URL.
	tables map[string]*table
}

func newState() state { return state{tables: map[string]*table{}} }

// of returns the table of a type, and creates it if needed.
func (s *state) of(typeURL string) *table {
	t := s.tables[typeURL]
	if t == nil {
		t = &table{shared: s.shared.part(typeURL)}
		s.tables[typeURL] = t
	}
	return t
}

// release removes a subscription from a table, and the table if it is unused.
func (s *state) release(typeURL string) {
	t := s.tables[typeURL]
	if t.subscribers--; t.unused() {
		delete(s.tables, typeURL)
	}
}

// replace replaces the state with the snapshot, and returns the changes. sessions are those of the key.
func (s *state) replace(snapshot *Snapshot, sessions []*session) (changes []change) {
	moves := s.shared != snapshot.Shared
	if moves {
		s.detach(sessions)
	}
	s.shared = snapshot.Shared
	if moves && s.shared != nil {
		changes = s.attach(sessions)
	}
	for _, r := range snapshot.own {
		if c, ok := s.put(r, sessions); ok {
			changes = append(changes, c)
		}
	}
	for typeURL, t := range s.tables {
		for i := range t.own.slots {
			if r := t.own.resource(uint32(i)); r != nil && !snapshot.hasOwn(r) {
				changes = append(changes, t.removeOwn(r.Name))
			}
		}
		if t.unused() {
			delete(s.tables, typeURL)
		}
	}
	return changes
}

// put adds or replaces an own resource, and reports whether anything changed. A shared resource with the name stays.
func (s *state) put(r *Resource, sessions []*session) (change, bool) {
	t := s.of(r.TypeURL)
	var removed bool // a shared resource had the name
	var old uint32
	if t.shared != nil {
		if old, removed = t.shared.index.find(r.Name, t.shared.name); removed && t.shared.resource(old) != nil {
			return change{}, false
		}
	}
	i, before, changed := t.own.put(r)
	if changed && before == nil && removed {
		moveAll(sessions, t, sharedNumber(old), ownNumber(i))
	}
	return change{t, ownNumber(i), before}, changed
}

// detach makes the shared resources of types with subscriptions own ones, since clients have them.
func (s *state) detach(sessions []*session) {
	for _, t := range s.tables {
		if t.shared == nil || t.subscribers == 0 {
			t.shared = nil
			continue
		}
		for i, one := range t.shared.slots {
			if one.name == "" {
				continue
			}
			to, known := t.own.index.find(one.name, t.own.name)
			if !known {
				to = t.own.assign(one.name, one.resource)
			}
			moveAll(sessions, t, sharedNumber(uint32(i)), ownNumber(to))
			t.freeIfUnused(ownNumber(to))
		}
		t.shared = nil
	}
}

// attach adds the shared resources to the tables, and returns the changes.
func (s *state) attach(sessions []*session) (changes []change) {
	for typeURL, t := range s.tables {
		if t.shared = s.shared.part(typeURL); t.shared == nil {
			continue
		}
		for i := range t.shared.slots {
			r := t.shared.resource(uint32(i))
			if r == nil {
				continue
			}
			n := sharedNumber(uint32(i))
			if before := t.share(n, sessions); before != r {
				changes = append(changes, change{t, n, before})
			}
		}
	}
	return changes
}
