package xds

// moveAll moves the state of clients for a name from one number to another: the name has become shared, or is shared no
// more. No client has state for both.
func moveAll(sessions []*session, t *table, from, to uint32) {
	for _, s := range sessions {
		for i := range s.subs {
			if sub := &s.subs[i]; sub.table == t {
				sub.subscription.move(from, to)
				if sub.step == stepClusters && s.pendingEndpoints.has(from) {
					s.pendingEndpoints.remove(from)
					s.pendingEndpoints.add(to)
				}
			}
		}
	}
}

// has reports whether the client has state for a number.
func (s *subscription) has(n uint32) bool {
	if s.entry(n) != 0 {
		return true
	}
	if _, dirty := s.dirty.get(n); dirty {
		return true
	}
	_, removed := s.removals.get(n)
	return removed
}

// move moves the state of a name to another number.
func (s *subscription) move(from, to uint32) {
	if e := s.entry(from); e != 0 {
		*s.place(from) = 0
		s.table.removeRef(from)
		if e&entryPlaceholder != 0 && !isOwn(to) { // the name is that of a shared resource from now on
			s.budget.add(s.cost(from, entryNamed) - s.cost(from, entryNamed|entryPlaceholder))
			e &^= entryPlaceholder
		}
		*s.place(to) = e
		s.table.addRef(to)
	}
	for _, v := range []*versions{&s.dirty, &s.removals} {
		if r, known := v.get(from); known {
			v.remove(from)
			v.set(to, r)
		}
	}
}
