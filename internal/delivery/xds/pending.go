package xds

import "slices"

// hasPending reports whether there may be something to send.
func (s *subscription) hasPending() bool {
	return s.mustRespond || s.dirty.len() > 0 || s.removals.len() > 0
}

// active reports whether there may be something to send, or a response is not yet acknowledged.
func (s *subscription) active() bool { return s.hasPending() || len(s.inflight) > 0 }

// pending compares the dirty names with the published resources. Names that did not change are dropped; removals that
// belong to a later step move to s.removals. It returns, in ascending order, the names to send in the step of the
// type. The caller releases the list.
func (s *subscription) pending() []uint32 {
	if s.dirty.len() == 0 {
		return nil
	}
	todo := numberLists.get(s.dirty.len())
	for n, has := range s.dirty.all() {
		if !s.table.known(n) {
			s.dirty.remove(n) // matched by the wildcard, removed before it was sent
			continue
		}
		e, r := s.entry(n), s.table.resource(n)
		s.removals.remove(n)
		switch {
		case r != nil && (e&entrySent == 0 || has != r):
			todo = append(todo, n)
		case r == nil && s.sotw != nil && !s.fullState(): // SotW cannot express this removal
			s.dirty.remove(n)
			s.set(n, e&entryNamed)
		case r == nil && e&entrySent != 0 && s.removalStep != s.step:
			s.removals.set(n, has)
			s.dirty.remove(n)
		case r == nil && s.mustSendRemoval(e):
			todo = append(todo, n)
		default:
			s.dirty.remove(n)
		}
	}
	slices.Sort(todo)
	return todo
}

// mustSendRemoval reports whether the client must be informed that a resource does not exist.
func (s *subscription) mustSendRemoval(e entry) bool {
	return e&entrySent != 0 || e&entryNamed != 0 && e&entryAbsenceSent == 0
}

// pendingRemovals returns, in ascending order, the names to remove in the last steps.
func (s *subscription) pendingRemovals() []uint32 {
	todo := numberLists.get(s.removals.len())
	for n := range s.removals.all() {
		todo = append(todo, n)
	}
	slices.Sort(todo)
	return todo
}

// addToResponse adds names to a response of at most limit bytes, and marks them as sent. At least one name is added.
func (s *subscription) addToResponse(todo []uint32, limit int, out *response) {
	size := 0
	out.changed = slices.Grow(out.changed, len(todo))
	for _, n := range todo {
		published := s.table.slot(n)
		if published.resource == nil {
			size += len(published.name) + 4
		} else {
			size += int(published.size)
		}
		if size > limit && len(out.changed)+len(out.removed) > 0 {
			return // the rest stays dirty, for the next response
		}
		s.dirty.remove(n)
		s.removals.remove(n)
		named := s.entry(n) & entryNamed
		switch {
		case published.resource != nil:
			out.changed = append(out.changed, published.resource)
			s.set(n, named|entrySent)
		case named != 0:
			out.removed = append(out.removed, published.name)
			s.set(n, entryNamed|entryAbsenceSent)
		default:
			out.removed = append(out.removed, published.name)
			s.set(n, 0)
		}
	}
}
