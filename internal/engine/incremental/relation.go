package incremental

import (
	"fmt"
	"slices"
)

// Relation maps keys to sorted entries. Entries must not be modified after they are added.
type Relation[K comparable, V any] struct {
	declarations
	g       *Graph
	compare func(a, b V) int
	equal   func(a, b V) bool
	slots   map[K]*slot[K, V]
	// sourceRules schedule the rules that are evaluated for each key.
	sourceRules []func(K)
	tracked     bool
	changed     map[K]struct{}
}

// slot holds the entries of one key.
type slot[K comparable, V any] struct {
	relation *Relation[K, V]
	key      K
	entries  []entry[V]
	// values are the sorted values of the entries. They are updated when a rule reads them or the run ends. While
	// stale, new entries are unsorted at the end, so that many insertions cost one sort.
	values  []V
	stale   bool
	readers map[*cell]struct{}
}

type entry[V any] struct {
	source *cell // nil for facts set from outside
	value  V
}

// NewRelation creates a relation. compare sorts the entries of a key. It must return 0 only for equal entries: the
// order of others would depend on their arrival, see Graph.Ambiguities. equal reports whether an entry replaces another
// without a change.
func NewRelation[K comparable, V any](g *Graph, name string, compare func(a, b V) int,
	equal func(a, b V) bool) *Relation[K, V] {
	return &Relation[K, V]{
		declarations: declarations{relation: name}, g: g, compare: compare, equal: equal, slots: map[K]*slot[K, V]{},
	}
}

// Name returns the name of the relation.
func (r *Relation[K, V]) Name() string { return r.relation }

// TrackChanges records the keys that change, for TakeChanged.
func (r *Relation[K, V]) TrackChanges() { r.tracked, r.changed = true, map[K]struct{}{} }

// TakeChanged returns the keys whose entries changed since the last call, in any order. It requires TrackChanges.
func (r *Relation[K, V]) TakeChanged() []K {
	out := make([]K, 0, len(r.changed))
	for k := range r.changed {
		out = append(out, k)
	}
	clear(r.changed)
	return out
}

// Set sets the fact of a key from outside.
func (r *Relation[K, V]) Set(key K, value V) {
	r.mustBeIdle()
	r.g.Seal()
	s := r.slot(key)
	for _, e := range s.entries {
		if e.source == nil {
			if r.equal(e.value, value) {
				return
			}
			s.remove(nil, e.value)
			break
		}
	}
	s.insert(nil, value)
}

// Delete removes the fact of a key that Set has set.
func (r *Relation[K, V]) Delete(key K) {
	r.mustBeIdle()
	s := r.slots[key]
	if s == nil {
		return
	}
	for _, e := range s.entries {
		if e.source == nil {
			s.remove(nil, e.value)
			return
		}
	}
}

// Get returns the sorted entries of a key, between runs.
func (r *Relation[K, V]) Get(key K) []V {
	r.mustBeIdle()
	if s := r.slots[key]; s != nil {
		return s.values
	}
	return nil
}

// GetFirst returns the first entry of a key, between runs.
func (r *Relation[K, V]) GetFirst(key K) (V, bool) { return first(r.Get(key)) }

// ForEach calls f for each key with entries, in any order, between runs.
func (r *Relation[K, V]) ForEach(f func(K, []V)) {
	r.mustBeIdle()
	for k, s := range r.slots {
		if len(s.entries) > 0 {
			f(k, s.values)
		}
	}
}

// mustBeIdle panics if a rule is evaluated: rules use handles.
func (r *Relation[K, V]) mustBeIdle() {
	if r.g.running != nil {
		panic(fmt.Sprintf("incremental: rule %s uses relation %s without a handle; declare it with Reads or Emits",
			r.g.running.name, r.relation))
	}
}

func (r *Relation[K, V]) slot(key K) *slot[K, V] {
	s := r.slots[key]
	if s == nil {
		s = &slot[K, V]{relation: r, key: key}
		r.slots[key] = s
	}
	return s
}

func first[V any](values []V) (V, bool) {
	if len(values) == 0 {
		var none V
		return none, false
	}
	return values[0], true
}

func (s *slot[K, V]) insert(source *cell, v V) {
	i := len(s.entries)
	if !s.stale {
		i, _ = slices.BinarySearchFunc(s.entries, v,
			func(e entry[V], v V) int { return s.relation.compare(e.value, v) })
	}
	s.entries = slices.Insert(s.entries, i, entry[V]{source, v})
	s.relation.slots[s.key] = s // the slot may have been removed with its last entry
	s.markChanged()
}

func (s *slot[K, V]) remove(source *cell, v V) {
	i := slices.IndexFunc(s.entries, func(e entry[V]) bool {
		return e.source == source &&
			s.relation.equal(e.value, v)
	})
	s.entries = slices.Delete(s.entries, i, i+1)
	s.markChanged()
}

// markChanged marks the slot as changed, and schedules the evaluations that read it.
func (s *slot[K, V]) markChanged() {
	r := s.relation
	if !s.stale {
		s.stale = true
		r.g.staleSlots = append(r.g.staleSlots, s)
	}
	if r.tracked {
		r.changed[s.key] = struct{}{}
	}
	for c := range s.readers {
		c.enqueue()
	}
	for _, enqueueKey := range r.sourceRules {
		enqueueKey(s.key)
	}
	s.removeIfUnused()
}

func (s *slot[K, V]) updateValues() {
	if !s.stale {
		return
	}
	s.stale = false
	// Each entry is compared with its neighbor at least once, so that every ambiguity is seen.
	slices.SortStableFunc(s.entries, func(a, b entry[V]) int {
		order := s.relation.compare(a.value, b.value)
		if order == 0 && !s.relation.equal(a.value, b.value) {
			s.relation.g.ambiguous[s.relation.relation] = struct{}{}
		}
		return order
	})
	s.values = make([]V, len(s.entries))
	for i, e := range s.entries {
		s.values[i] = e.value
	}
}

func (s *slot[K, V]) addReader(c *cell) {
	if s.readers == nil {
		s.readers = map[*cell]struct{}{}
	}
	s.readers[c] = struct{}{}
}

func (s *slot[K, V]) dropReader(c *cell) {
	delete(s.readers, c)
	s.removeIfUnused()
}

func (s *slot[K, V]) removeIfUnused() {
	if len(s.entries) == 0 && len(s.readers) == 0 && s.relation.slots[s.key] == s {
		delete(s.relation.slots, s.key)
	}
}

// emission is an emitted entry.
type emission[K comparable, V any] struct {
	target *slot[K, V]
	value  V
}

func (e *emission[K, V]) slot() anySlot { return e.target }

func (e *emission[K, V]) equal(o anyEmission) bool {
	other, ok := o.(*emission[K, V])
	return ok && other.target == e.target && e.target.relation.equal(e.value, other.value)
}

func (e *emission[K, V]) apply(c *cell)   { e.target.insert(c, e.value) }
func (e *emission[K, V]) retract(c *cell) { e.target.remove(c, e.value) }
