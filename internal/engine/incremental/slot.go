package incremental

import "slices"

// slot holds the entries of one key. There are many slots, and most have one entry: each value is stored once.
type slot[K comparable, V any] struct {
	relation *Relation[K, V]
	key      K
	// entries are sorted, unless the slot is stale: then new ones are at the end, so that many insertions cost one sort.
	entries []*entry[K, V]
	// copied are the values of several entries or, of a stale slot, those of the last update.
	copied  []V
	readers readers
	// cells are the evaluations for the key, by the index of their rule in the sources of the relation.
	cells []*cell
	stale bool
	// read is the number of the last evaluation that has read the slot.
	read uint64
}

// anySlot is a slot of a relation of any type.
type anySlot interface {
	addReader(*cell)
	dropReader(*cell)
	// lastRead is the number of the last evaluation that has read the slot.
	lastRead() *uint64
	update()
	removeIfUnused()
}

// entry is a value of a slot.
type entry[K comparable, V any] struct {
	slot   *slot[K, V]
	source *cell // nil for facts set from outside
	value  [1]V  // an array, to be the values of a slot with one entry
}

func newEntry[K comparable, V any](s *slot[K, V], value V) *entry[K, V] {
	return &entry[K, V]{slot: s, value: [1]V{value}}
}

// anyEntry is an entry of a relation of any type.
type anyEntry interface {
	// equal reports whether the other is an equal entry of the same slot.
	equal(anyEntry) bool
	in() anySlot
	insert(*cell)
	remove()
}

func (e *entry[K, V]) in() anySlot { return e.slot }

func (e *entry[K, V]) equal(o anyEntry) bool {
	other, ok := o.(*entry[K, V])
	return ok && other.slot == e.slot && e.slot.relation.equal(e.value[0], other.value[0])
}

func (e *entry[K, V]) insert(source *cell) {
	e.source = source
	e.slot.insert(e)
}

func (e *entry[K, V]) remove() { e.slot.remove(e) }

// fact returns the entry that was set from outside.
func (s *slot[K, V]) fact() *entry[K, V] {
	for _, e := range s.entries {
		if e.source == nil {
			return e
		}
	}
	return nil
}

// values are the sorted values of the entries, as of the last update.
func (s *slot[K, V]) values() []V {
	if len(s.entries) == 1 && !s.stale {
		return s.entries[0].value[:]
	}
	return s.copied
}

func (s *slot[K, V]) insert(e *entry[K, V]) {
	s.markStale()
	s.entries = append(s.entries, e)
	s.relation.slots[s.key] = s // the slot may have been removed with its last entry
	s.markChanged()
}

func (s *slot[K, V]) remove(e *entry[K, V]) {
	s.markStale()
	i := slices.Index(s.entries, e)
	s.entries = slices.Delete(s.entries, i, i+1)
	s.markChanged()
}

// markStale keeps the values until the next update.
func (s *slot[K, V]) markStale() {
	if !s.stale {
		s.copied = s.values()
		s.stale = true
		s.relation.g.staleSlots = append(s.relation.g.staleSlots, s)
	}
}

// markChanged schedules the evaluations that read the slot.
func (s *slot[K, V]) markChanged() {
	r := s.relation
	if r.tracked {
		r.changed[s.key] = struct{}{}
	}
	s.readers.enqueue()
	if s.cells == nil && len(r.sources) > 0 {
		s.cells = make([]*cell, len(r.sources))
	}
	for i, rule := range r.sources {
		if s.cells[i] == nil {
			s.cells[i] = &cell{rule: rule, at: s}
		}
		s.cells[i].enqueue()
	}
	s.removeIfUnused()
}

// update sorts the entries after changes.
func (s *slot[K, V]) update() {
	if !s.stale {
		return
	}
	s.stale, s.copied = false, nil
	if len(s.entries) < 2 {
		return
	}
	// Each entry is compared with its neighbor at least once, so that every ambiguity is seen.
	slices.SortStableFunc(s.entries, func(a, b *entry[K, V]) int {
		order := s.relation.compare(a.value[0], b.value[0])
		if order == 0 && !s.relation.equal(a.value[0], b.value[0]) {
			s.relation.g.ambiguous[s.relation.relation] = struct{}{}
		}
		return order
	})
	s.copied = make([]V, len(s.entries))
	for i, e := range s.entries {
		s.copied[i] = e.value[0]
	}
}

func (s *slot[K, V]) lastRead() *uint64  { return &s.read }
func (s *slot[K, V]) addReader(c *cell)  { s.readers.add(c) }
func (s *slot[K, V]) dropReader(c *cell) { s.readers.drop(c); s.removeIfUnused() }

// removeIfUnused removes the slot from its relation. The evaluations for its key are there until they have seen that it
// has no entries.
func (s *slot[K, V]) removeIfUnused() {
	if len(s.entries) == 0 && s.cells == nil && s.readers.empty() && s.relation.slots[s.key] == s {
		delete(s.relation.slots, s.key)
	}
}

// dropCell removes the evaluation of a rule for the key.
func (s *slot[K, V]) dropCell(source int) {
	s.cells[source] = nil
	if !slices.ContainsFunc(s.cells, func(c *cell) bool { return c != nil }) {
		s.cells = nil
		s.removeIfUnused()
	}
}
