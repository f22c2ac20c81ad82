package xds

import "slices"

// due says whether there may be something to send.
func (s *subscription) due() bool { return s.owed || s.dirty.len() > 0 || s.gone.len() > 0 }

// active says whether there may be something to send, or something is unanswered.
func (s *subscription) active() bool { return s.due() || len(s.flights) > 0 }

// settle compares the dirty names with what is published: what is the same
// needs nothing, what has to go waits in gone. It returns what needs a place in
// a response of the type's own step, in the order of their numbers, until the next call for the table.
func (s *subscription) settle() []uint32 {
	if s.dirty.len() == 0 {
		return nil
	}
	todo := slices.Grow(s.table.todo[:0], s.dirty.len())
	for n, has := range s.dirty.all() {
		if s.table.slots[n].resource == nil {
			s.dirty.remove(n) // by wildcard, and gone before the client heard of it
			continue
		}
		e, r := s.entry(n), s.table.resource(n)
		s.gone.remove(n)
		switch {
		case r != nil && (e&entryHeld == 0 || has != r):
			todo = append(todo, n)
		case r == nil && s.world != nil && !s.wholeState(): // there is no way to say so
			s.dirty.remove(n)
			s.set(n, e&entryNamed)
		case r == nil && e&entryHeld != 0 && s.removal != s.step:
			s.gone.set(n, has)
			s.dirty.remove(n)
		case r == nil && s.mentions(e):
			todo = append(todo, n)
		default:
			s.dirty.remove(n)
		}
	}
	if slices.Sort(todo); cap(todo) <= enough {
		s.table.todo = todo
	}
	return todo
}

// mentions says whether a client is told that a resource is not there.
func (s *subscription) mentions(e entry) bool {
	return e&entryHeld != 0 || e&entryNamed != 0 && e&entryTold == 0
}

// leaving returns what to remove in the last steps, in the order of their numbers.
func (s *subscription) leaving() []uint32 {
	todo := make([]uint32, 0, s.gone.len())
	for n := range s.gone.all() {
		todo = append(todo, n)
	}
	slices.Sort(todo)
	return todo
}

// take puts names into a response until it has limit bytes, and notes them as sent.
func (s *subscription) take(todo []uint32, limit int, out *response) {
	size := 0
	for _, n := range todo {
		r, name := s.table.resource(n), s.table.name(n)
		if r == nil {
			size += len(name) + 4
		} else {
			size += len(r.wire)
		}
		if size > limit && len(out.changed)+len(out.removed) > 0 {
			return // the rest stays dirty
		}
		s.dirty.remove(n)
		delete(s.urgent, n)
		s.gone.remove(n)
		named := s.entry(n) & entryNamed
		switch {
		case r != nil:
			out.changed = append(out.changed, r)
			s.set(n, named|entryHeld)
		case named != 0:
			out.removed = append(out.removed, name)
			s.set(n, entryNamed|entryTold)
		default:
			out.removed = append(out.removed, name)
			s.set(n, 0)
		}
	}
	if s.dirty.len() == 0 {
		s.urgent = nil
	}
}
