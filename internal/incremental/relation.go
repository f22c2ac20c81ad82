package incremental

import "fmt"

// Relation maps keys to sorted entries. Entries must not be modified after they are added.
type Relation[K comparable, V any] struct {
	relationSlots
	compare func(a, b V) int
	equal   func(a, b V) bool
	table   table[K, V]
	lists   pool[list[V]]
	tracked bool
	changed map[K]struct{}
}

// NewRelation creates a relation. compare sorts the entries of a key. It must return 0 only for equal entries: the
// order of others would depend on their arrival, see Graph.Ambiguities. equal reports whether an entry replaces another
// without a change.
func NewRelation[K comparable, V any](g *Graph, name string, compare func(a, b V) int,
	equal func(a, b V) bool) *Relation[K, V] {
	r := &Relation[K, V]{compare: compare, equal: equal}
	r.relationSlots = relationSlots{
		declarations: declarations{relation: name}, g: g, number: uint32(len(g.relations)), typed: r,
	}
	if len(g.relations) == maxRelations {
		panic(fmt.Sprintf("incremental: more than %d relations", maxRelations))
	}
	g.relations = append(g.relations, &r.relationSlots)
	return r
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
	place := r.slot(key)
	r.replace(place, 0, r.facts(place), []emission{{r.id(place), &[1]V{value}}})
}

// Delete removes the fact of a key that Set has set.
func (r *Relation[K, V]) Delete(key K) {
	r.mustBeIdle()
	if place := r.table.get(key); place != 0 {
		if had := r.facts(place); had > 0 {
			r.replace(place, 0, had, nil)
		}
	}
}

// facts is the number of entries of a slot that were set from outside.
func (r *Relation[K, V]) facts(place uint32) int {
	if _, is := r.emittedBy(0, place); is {
		return 1
	}
	return 0
}

// Get returns the sorted entries of a key, between runs.
func (r *Relation[K, V]) Get(key K) []V {
	r.mustBeIdle()
	if place := r.table.get(key); place != 0 {
		return r.values(place)
	}
	return nil
}

// GetFirst returns the first entry of a key, between runs.
func (r *Relation[K, V]) GetFirst(key K) (V, bool) { return first(r.Get(key)) }

// ForEach calls f for each key with entries, in any order, between runs.
func (r *Relation[K, V]) ForEach(f func(K, []V)) {
	r.mustBeIdle()
	for _, place := range r.table.places {
		if place != 0 && !r.empty(place) {
			f(r.table.items.at(place).key, r.values(place))
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

// slot returns the slot of a key, which is added if there is none.
func (r *Relation[K, V]) slot(key K) uint32 {
	place := r.table.get(key)
	if place == 0 {
		place = r.addSlot()
		r.table.put(place, key)
	}
	return place
}

// markChanged schedules the evaluations that a change of a slot affects.
func (r *Relation[K, V]) markChanged(place uint32) {
	if r.tracked {
		r.changed[r.table.items.at(place).key] = struct{}{}
	}
	r.enqueueAffected(place)
	r.removeIfUnused(place)
}

// removeIfUnused removes a slot. The evaluations for its key are there until they have seen that it has no entries.
func (r *Relation[K, V]) removeIfUnused(place uint32) {
	s := r.slots.at(place)
	if s.readers != 0 || s.cells != 0 || !r.empty(place) {
		return
	}
	if s.several() {
		r.lists.remove(s.entries)
	}
	r.table.remove(r.table.items.at(place).key)
	r.slots.remove(place)
}

func first[V any](values []V) (V, bool) {
	if len(values) == 0 {
		var none V
		return none, false
	}
	return values[0], true
}
