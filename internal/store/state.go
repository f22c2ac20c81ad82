package store

import (
	"fmt"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// stateRelation is the relation of a dialect that NewStates made, with functions that hide its type parameter.
type stateRelation struct {
	takeChanged func() []model.ObjectRef
	get         func(model.ObjectRef) any
}

// NewStates adds the relation with what the status of a dialect's objects says besides their findings and their mesh,
// in a type of the dialect. An object has at most one entry. The status of an object is written again when its entry
// changes; dialect.StateOf returns the entry. NewStates panics if the dialect, which owns the rules that are being
// added, has such a relation.
func NewStates[S any](g *incremental.Graph, m *Model) *incremental.Relation[model.ObjectRef, S] {
	owner := g.Owner()
	if _, dup := m.states[owner]; dup {
		panic(fmt.Sprintf("store: NewStates called twice for dialect %q", owner))
	}
	r := incremental.NewRelation[model.ObjectRef](g, "states of "+owner, func(S, S) int { return 0 }, deepEqual[S])
	r.TrackChanges()
	m.states[owner] = stateRelation{r.TakeChanged, func(ref model.ObjectRef) any {
		if state, has := r.GetFirst(ref); has {
			return state
		}
		return nil
	}}
	return r
}

// StateOf returns the entry of an object in the relation of a dialect, nil if there is none.
func (m *Model) StateOf(dialect string, object model.ObjectRef) any {
	if states, has := m.states[dialect]; has {
		return states.get(object)
	}
	return nil
}

// TakeChangedStates returns the objects whose mesh or state changed since the last call, in any order. It may have an
// object twice.
func (m *Model) TakeChangedStates() []model.ObjectRef {
	out := m.Members.TakeChanged()
	for _, states := range m.states {
		out = append(out, states.takeChanged()...)
	}
	return out
}
