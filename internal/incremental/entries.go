package incremental

import "slices"

// item is the part of a slot that depends on the types of the relation.
type item[K comparable, V any] struct {
	key K
	// only is the entry of a slot with one, an array to be the values of the slot. It is not modified: who has read it
	// may keep a reference.
	only *[1]V
}

// list holds the entries of a slot with several.
type list[V any] struct {
	// values are sorted, unless the list is stale: then new ones are at the end, so that many insertions cost one sort.
	// They are not modified while the list is not stale: who has read them may keep them.
	values  []V
	sources []cellID
	stale   bool
}

// empty reports whether a slot has no entries.
func (r *Relation[K, V]) empty(place uint32) bool {
	s := r.slots.at(place)
	return r.table.items.at(place).only == nil && (!s.several() || len(r.lists.at(s.entries).values) == 0)
}

// values are the values of a slot, sorted as of the last update.
func (r *Relation[K, V]) values(place uint32) []V {
	if s := r.slots.at(place); s.several() {
		return r.lists.at(s.entries).values
	}
	if only := r.table.items.at(place).only; only != nil {
		return only[:]
	}
	return nil
}

// sourcesOf are the evaluations that have emitted the values, 0 for facts.
func (r *Relation[K, V]) sourcesOf(place uint32) []cellID {
	switch s := r.slots.at(place); {
	case s.several():
		return r.lists.at(s.entries).sources
	case r.empty(place):
		return nil
	default:
		return []cellID{cellID(s.entries)}
	}
}

// emittedBy returns the first of the values that an evaluation has emitted.
func (r *Relation[K, V]) emittedBy(source cellID, place uint32) (value V, is bool) {
	s := r.slots.at(place)
	if !s.several() {
		if only := r.table.items.at(place).only; only != nil && cellID(s.entries) == source {
			return only[0], true
		}
		return value, false
	}
	l := r.lists.at(s.entries)
	if i := slices.Index(l.sources, source); i >= 0 {
		return l.values[i], true
	}
	return value, false
}

// replace replaces the entries of a slot that an evaluation, or Set, has emitted: had is their number before. Entries
// that are equal to one before have no effect.
func (r *Relation[K, V]) replace(place uint32, source cellID, had int, by []emission) {
	s, only := r.slots.at(place), &r.table.items.at(place).only
	others := *only != nil && had == 0
	if s.several() || others || len(by) > 1 {
		r.replaceSeveral(place, source, had, by)
		return
	}
	if len(by) == 0 {
		*only, s.entries = nil, 0
	} else {
		value := by[0].value.(*[1]V)
		if *only != nil && r.equal((*only)[0], value[0]) {
			return
		}
		*only, s.entries = value, uint32(source)
	}
	r.markChanged(place)
}

// replaceSeveral is replace for a slot with several entries, before or after it.
func (r *Relation[K, V]) replaceSeveral(place uint32, source cellID, had int, by []emission) {
	s, only := r.slots.at(place), &r.table.items.at(place).only
	if !s.several() {
		l := list[V]{}
		if *only != nil {
			l.values, l.sources = (*only)[:], []cellID{cellID(s.entries)}
		}
		*only = nil
		s.setEntries(true, r.lists.add())
		*r.lists.at(s.entries) = l
	}
	l := r.lists.at(s.entries)
	if had == 1 && len(by) == 1 && r.contains(l, source, by[0].value.(*[1]V)[0]) {
		return
	}
	var gone []int
	for i := 0; i < len(l.sources) && had > 0; i++ {
		if l.sources[i] != source {
			continue
		}
		had--
		same := slices.IndexFunc(by, func(e emission) bool { return r.equal(l.values[i], e.value.(*[1]V)[0]) })
		if same < 0 {
			gone = append(gone, i)
		} else {
			by[same] = by[len(by)-1]
			by = by[:len(by)-1]
		}
	}
	if len(gone)+len(by) == 0 {
		return
	}
	if !l.stale {
		l.stale, l.values = true, append(make([]V, 0, len(l.values)+len(by)), l.values...)
		r.g.staleSlots = append(r.g.staleSlots, r.id(place))
	}
	for _, i := range slices.Backward(gone) {
		l.values, l.sources = slices.Delete(l.values, i, i+1), slices.Delete(l.sources, i, i+1)
	}
	for _, e := range by {
		l.values, l.sources = append(l.values, e.value.(*[1]V)[0]), append(l.sources, source)
	}
	r.markChanged(place)
}

// contains reports whether a list has an entry of an evaluation. It does not search the whole list if it is sorted.
func (r *Relation[K, V]) contains(l *list[V], source cellID, value V) bool {
	i := 0
	if !l.stale {
		i, _ = slices.BinarySearchFunc(l.values, value, r.compare)
	}
	for ; i < len(l.values) && (l.stale || r.compare(l.values[i], value) == 0); i++ {
		if l.sources[i] == source {
			return r.equal(l.values[i], value)
		}
	}
	return false
}

// update sorts the entries of a slot after changes.
func (r *Relation[K, V]) update(place uint32) {
	s := r.slots.at(place)
	if !s.several() || !r.lists.at(s.entries).stale {
		return
	}
	if l := r.lists.at(s.entries); len(l.values) > 1 {
		r.sort(l)
		return
	}
	number, l := s.entries, *r.lists.at(s.entries)
	s.setEntries(false, 0)
	if len(l.values) == 1 {
		r.table.items.at(place).only, s.entries = &[1]V{l.values[0]}, uint32(l.sources[0])
	}
	r.lists.remove(number)
}

func (r *Relation[K, V]) sort(l *list[V]) {
	type entry struct {
		value  V
		source cellID
	}
	entries := make([]entry, len(l.values))
	for i, v := range l.values {
		entries[i] = entry{v, l.sources[i]}
	}
	// Each entry is compared with its neighbor at least once, so that every ambiguity is seen.
	slices.SortStableFunc(entries, func(a, b entry) int {
		order := r.compare(a.value, b.value)
		if order == 0 && !r.equal(a.value, b.value) {
			r.g.ambiguous[r.relation] = struct{}{}
		}
		return order
	})
	for i, e := range entries {
		l.values[i], l.sources[i] = e.value, e.source
	}
	l.stale = false
}
