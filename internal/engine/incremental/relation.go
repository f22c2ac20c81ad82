package incremental

import (
	"fmt"
	"math"
	"slices"
)

// Relation maps keys to entries, which are kept in order. Entries must not be changed once they are in.
type Relation[K comparable, V any] struct {
	g       *Graph
	name    string
	compare func(a, b V) int
	equal   func(a, b V) bool
	slots   map[K]*slot[K, V]
	// sources are the rules that are evaluated for each key.
	sources []func(K)
	// emitter and reader are the latest rule that emits here and the earliest one that reads.
	emitter, reader int
	observed        bool
	changed         map[K]struct{}
}

// slot holds the entries of one key.
type slot[K comparable, V any] struct {
	relation *Relation[K, V]
	key      K
	entries  []entry[V]
	// values are those of the entries, made anew after changes, when somebody reads or the run ends. While stale, entries that came
	// since are at the end, in no order: many that come at once are sorted once.
	values  []V
	stale   bool
	readers map[*cell]struct{}
}

type entry[V any] struct {
	by    *cell // nil for what comes from outside
	value V
}

// NewRelation makes a relation. Entries of a key are ordered by compare, which should leave none of different content equal;
// equal tells when a change is none.
func NewRelation[K comparable, V any](g *Graph, name string, compare func(a, b V) int, equal func(a, b V) bool) *Relation[K, V] {
	return &Relation[K, V]{g: g, name: name, compare: compare, equal: equal, slots: map[K]*slot[K, V]{}, emitter: outside, reader: math.MaxInt}
}

// Observe makes the relation note which keys change, for Changed.
func (r *Relation[K, V]) Observe() { r.observed, r.changed = true, map[K]struct{}{} }

// Changed gives the keys whose entries changed since it was asked last, in no order. The relation must be observed.
func (r *Relation[K, V]) Changed() []K {
	out := make([]K, 0, len(r.changed))
	for k := range r.changed {
		out = append(out, k)
	}
	clear(r.changed)
	return out
}

// Set replaces the fact of a key, from outside.
func (r *Relation[K, V]) Set(key K, value V) {
	s := r.slot(key)
	for _, e := range s.entries {
		if e.by == nil {
			if r.equal(e.value, value) {
				return
			}
			s.remove(nil, e.value)
			break
		}
	}
	s.insert(nil, value)
}

// Delete removes the fact of a key that was set from outside.
func (r *Relation[K, V]) Delete(key K) {
	s := r.slots[key]
	if s == nil {
		return
	}
	for _, e := range s.entries {
		if e.by == nil {
			s.remove(nil, e.value)
			return
		}
	}
}

// All gives the entries of a key, in order, to a rule. The slice must not be changed.
func (r *Relation[K, V]) All(t *Task, key K) []V {
	if t.cell.rank <= r.emitter {
		panic(fmt.Sprintf("incremental: rule %s reads relation %s, into which rule %s emits after it", t.g.rules[t.cell.rank].name, r.name, t.g.rules[r.emitter].name))
	}
	r.reader = min(r.reader, t.cell.rank)
	s := r.slot(key)
	t.reads = append(t.reads, s)
	s.refresh()
	return s.values
}

// First gives the first entry of a key to a rule.
func (r *Relation[K, V]) First(t *Task, key K) (V, bool) { return first(r.All(t, key)) }

// Look gives the entries of a key to the outside, between runs.
func (r *Relation[K, V]) Look(key K) []V {
	if s := r.slots[key]; s != nil {
		return s.values
	}
	return nil
}

// LookFirst gives the first entry of a key to the outside, between runs.
func (r *Relation[K, V]) LookFirst(key K) (V, bool) { return first(r.Look(key)) }

// Each calls f for each key that has entries, in no order, between runs.
func (r *Relation[K, V]) Each(f func(K, []V)) {
	for k, s := range r.slots {
		if len(s.entries) > 0 {
			f(k, s.values)
		}
	}
}

// Emit puts an entry into the relation, for as long as the evaluation stands.
func (r *Relation[K, V]) Emit(t *Task, key K, value V) {
	if t.cell.rank >= r.reader {
		panic(fmt.Sprintf("incremental: rule %s emits into relation %s, which rule %s reads before it", t.g.rules[t.cell.rank].name, r.name, t.g.rules[r.reader].name))
	}
	r.emitter = max(r.emitter, t.cell.rank)
	t.emits = append(t.emits, &emitted[K, V]{in: r.slot(key), value: value})
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

func (s *slot[K, V]) insert(by *cell, v V) {
	i := len(s.entries)
	if !s.stale {
		i, _ = slices.BinarySearchFunc(s.entries, v, func(e entry[V], v V) int { return s.relation.compare(e.value, v) })
	}
	s.entries = slices.Insert(s.entries, i, entry[V]{by, v})
	s.relation.slots[s.key] = s // it may have been forgotten when another entry went
	s.touch()
}

func (s *slot[K, V]) remove(by *cell, v V) {
	i := slices.IndexFunc(s.entries, func(e entry[V]) bool { return e.by == by && s.relation.equal(e.value, v) })
	s.entries = slices.Delete(s.entries, i, i+1)
	s.touch()
}

// touch tells everybody whom the slot concerns.
func (s *slot[K, V]) touch() {
	r := s.relation
	if !s.stale {
		s.stale = true
		r.g.stale = append(r.g.stale, s)
	}
	if r.observed {
		r.changed[s.key] = struct{}{}
	}
	for c := range s.readers {
		r.g.enqueue(c)
	}
	for _, feed := range r.sources {
		feed(s.key)
	}
	s.forgetIfUnused()
}

func (s *slot[K, V]) refresh() {
	if !s.stale {
		return
	}
	s.stale = false
	slices.SortStableFunc(s.entries, func(a, b entry[V]) int { return s.relation.compare(a.value, b.value) })
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
	s.forgetIfUnused()
}

func (s *slot[K, V]) forgetIfUnused() {
	if len(s.entries) == 0 && len(s.readers) == 0 && s.relation.slots[s.key] == s {
		delete(s.relation.slots, s.key)
	}
}

// emitted is an entry of one type.
type emitted[K comparable, V any] struct {
	in    *slot[K, V]
	value V
}

func (e *emitted[K, V]) slot() node { return e.in }

func (e *emitted[K, V]) equal(o emission) bool {
	other, ok := o.(*emitted[K, V])
	return ok && other.in == e.in && e.in.relation.equal(e.value, other.value)
}

func (e *emitted[K, V]) apply(c *cell)   { e.in.insert(c, e.value) }
func (e *emitted[K, V]) retract(c *cell) { e.in.remove(c, e.value) }
