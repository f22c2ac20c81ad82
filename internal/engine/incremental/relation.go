package incremental

import "fmt"

// Relation maps keys to sorted entries. Entries must not be modified after they are added.
type Relation[K comparable, V any] struct {
	declarations
	g       *Graph
	compare func(a, b V) int
	equal   func(a, b V) bool
	slots   slotSet[K, V]
	// sources are the rules that are evaluated for each key, severalSources those for keys with several entries.
	sources, severalSources []*Rule
	tracked                 bool
	changed                 map[K]struct{}
}

// NewRelation creates a relation. compare sorts the entries of a key. It must return 0 only for equal entries: the
// order of others would depend on their arrival, see Graph.Ambiguities. equal reports whether an entry replaces another
// without a change.
func NewRelation[K comparable, V any](g *Graph, name string, compare func(a, b V) int,
	equal func(a, b V) bool) *Relation[K, V] {
	return &Relation[K, V]{
		declarations: declarations{relation: name}, g: g, compare: compare, equal: equal,
	}
}

// Name returns the name of the relation.
func (r *Relation[K, V]) Name() string { return r.relation }

// TrackChanges records the keys that change, for TakeChanged.
func (r *Relation[K, V]) TrackChanges() { r.tracked, r.changed = true, map[K]struct{}{} }

// maxKeptChanges is the number of changed keys up to which their map is used again. At the start, all keys change.
const maxKeptChanges = 1000

// TakeChanged returns the keys whose entries changed since the last call, in any order. It requires TrackChanges.
func (r *Relation[K, V]) TakeChanged() []K {
	out := make([]K, 0, len(r.changed))
	for k := range r.changed {
		out = append(out, k)
	}
	if len(out) > maxKeptChanges {
		r.changed = map[K]struct{}{}
	} else {
		clear(r.changed)
	}
	return out
}

// Set sets the fact of a key from outside.
func (r *Relation[K, V]) Set(key K, value V) {
	r.mustBeIdle()
	r.g.Seal()
	s := r.slot(key)
	if old := s.fact(); old != nil {
		if r.equal(old.value[0], value) {
			return
		}
		s.remove(old)
	}
	s.insert(newEntry(s, value))
}

// Delete removes the fact of a key that Set has set.
func (r *Relation[K, V]) Delete(key K) {
	r.mustBeIdle()
	if s := r.slots.get(key); s != nil {
		if old := s.fact(); old != nil {
			s.remove(old)
		}
	}
}

// Get returns the sorted entries of a key, between runs.
func (r *Relation[K, V]) Get(key K) []V {
	r.mustBeIdle()
	if s := r.slots.get(key); s != nil {
		return s.values()
	}
	return nil
}

// GetFirst returns the first entry of a key, between runs.
func (r *Relation[K, V]) GetFirst(key K) (V, bool) { return first(r.Get(key)) }

// ForEach calls f for each key with entries, in any order, between runs.
func (r *Relation[K, V]) ForEach(f func(K, []V)) {
	r.mustBeIdle()
	for _, s := range r.slots.table {
		if s != nil && !s.empty() {
			f(s.key, s.values())
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
	s := r.slots.get(key)
	if s == nil {
		s = &slot[K, V]{relation: r, key: key}
		r.slots.put(s)
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
