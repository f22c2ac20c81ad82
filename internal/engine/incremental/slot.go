package incremental

import "slices"

// slot holds the entries of one key. There are some forty slots for each service of a mesh, most with one entry: their
// size is most of the memory of a graph.
type slot[K comparable, V any] struct {
	relation *Relation[K, V]
	key      K
	// only is the entry of a slot with one, several are those of a slot with more.
	only    *entry[K, V]
	several *entries[K, V]
	readers readers
	// cells are the evaluations for the key, by the index of their rule in the sources of the relation.
	cells []cell
	// read is the number of the last evaluation that has read the slot.
	read uint64
}

// entries are several entries of a slot.
type entries[K comparable, V any] struct {
	// list is sorted, unless it is stale: then new ones are at the end, so that many insertions cost one sort.
	list  []*entry[K, V]
	stale bool
	// values are those of the list at the last update.
	values []V
	// cells are the evaluations of rules for keys with several entries, as those of the slot.
	cells []cell
}

// anySlot is a slot of a relation of any type.
type anySlot interface {
	addReader(*cell)
	dropReader(*cell)
	// lastRead is the number of the last evaluation that has read the slot.
	lastRead() *uint64
	update()
	removeIfUnused()
	// dropCell removes an evaluation for the key.
	dropCell(*cell)
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

// all lists the entries.
func (s *slot[K, V]) all() []*entry[K, V] {
	switch {
	case s.several != nil:
		return s.several.list
	case s.only != nil:
		return []*entry[K, V]{s.only}
	}
	return nil
}

// fact returns the entry that was set from outside.
func (s *slot[K, V]) fact() *entry[K, V] {
	if s.only != nil && s.only.source == nil {
		return s.only
	}
	if s.several != nil {
		for _, e := range s.several.list {
			if e.source == nil {
				return e
			}
		}
	}
	return nil
}

func (s *slot[K, V]) empty() bool {
	return s.only == nil && (s.several == nil || len(s.several.list) == 0)
}

// values are the sorted values of the entries. Those of several entries are as of the last update.
func (s *slot[K, V]) values() []V {
	switch {
	case s.several != nil:
		return s.several.values
	case s.only != nil:
		return s.only.value[:]
	}
	return nil
}

func (s *slot[K, V]) insert(e *entry[K, V]) {
	switch {
	case s.several != nil:
		s.several.list = append(s.several.list, e)
		s.markStale()
	case s.only != nil:
		s.several = &entries[K, V]{list: []*entry[K, V]{s.only, e}, values: s.only.value[:]}
		s.only = nil
		s.markStale()
	default:
		s.only = e
	}
	s.relation.slots.put(s) // the slot may have been removed with its last entry
	s.markChanged()
}

func (s *slot[K, V]) remove(e *entry[K, V]) {
	if s.several != nil {
		i := slices.Index(s.several.list, e)
		s.several.list = slices.Delete(s.several.list, i, i+1)
		s.markStale()
	} else {
		s.only = nil
	}
	s.markChanged()
}

// markStale keeps the values of several entries until the next update.
func (s *slot[K, V]) markStale() {
	if !s.several.stale {
		s.several.stale = true
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
	s.cells = s.enqueue(s.cells, r.sources)
	if s.several != nil {
		s.several.cells = s.enqueue(s.several.cells, r.severalSources)
	}
	s.removeIfUnused()
}

// enqueue schedules the evaluations of rules for the key. cells are those of the last time, or nil.
func (s *slot[K, V]) enqueue(cells []cell, rules []*Rule) []cell {
	if cells == nil && len(rules) > 0 {
		cells = make([]cell, len(rules))
	}
	for i, rule := range rules {
		c := &cells[i]
		if c.rule == nil {
			c.rule, c.at = rule, s
		}
		c.enqueue()
	}
	return cells
}

// update sorts the entries after changes.
func (s *slot[K, V]) update() {
	l := s.several
	if l == nil || !l.stale {
		return
	}
	if len(l.list) < 2 {
		if s.several = nil; len(l.list) == 1 {
			s.only = l.list[0]
		}
		return
	}
	l.stale = false
	// Each entry is compared with its neighbor at least once, so that every ambiguity is seen.
	slices.SortStableFunc(l.list, func(a, b *entry[K, V]) int {
		order := s.relation.compare(a.value[0], b.value[0])
		if order == 0 && !s.relation.equal(a.value[0], b.value[0]) {
			s.relation.g.ambiguous[s.relation.relation] = struct{}{}
		}
		return order
	})
	l.values = make([]V, len(l.list)) // those of the last update stay with who has read them
	for i, e := range l.list {
		l.values[i] = e.value[0]
	}
}

func (s *slot[K, V]) lastRead() *uint64  { return &s.read }
func (s *slot[K, V]) addReader(c *cell)  { s.readers.add(c) }
func (s *slot[K, V]) dropReader(c *cell) { s.readers.drop(c); s.removeIfUnused() }

// removeIfUnused removes the slot from its relation. The evaluations for its key are there until they have seen that it
// has no entries.
func (s *slot[K, V]) removeIfUnused() {
	if s.empty() && s.cells == nil && (s.several == nil || s.several.cells == nil) && s.readers.empty() {
		s.relation.slots.remove(s)
	}
}

func (s *slot[K, V]) dropCell(c *cell) {
	*c = cell{}
	s.cells = withoutUnused(s.cells)
	if s.several != nil {
		s.several.cells = withoutUnused(s.several.cells)
	}
	s.removeIfUnused()
}

// withoutUnused returns nil if all cells are unused.
func withoutUnused(cells []cell) []cell {
	if slices.ContainsFunc(cells, func(c cell) bool { return c.rule != nil }) {
		return cells
	}
	return nil
}
