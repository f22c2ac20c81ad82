package dialect

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// Statuses is a dialect that writes the status of objects.
type Statuses interface {
	Dialect
	// StatusKinds returns an empty object of each kind with a status that the dialect writes. No other dialect writes
	// that of the same kind.
	StatusKinds() []client.Object
	// Status returns a copy of an object of such a kind with the desired status. It is a pure function: for the same
	// input, it changes nothing in an object that it returned.
	Status(object client.Object, in StatusInput) client.Object
}

// StatusInput is what the status of an object says.
type StatusInput struct {
	// Mesh is the name of the mesh of the object, or "": its entry in store.Model.Members.
	Mesh string
	// State is the entry of the object in the relation that the rules of the dialect made with store.NewStates; nil if
	// there is none. StateOf returns it.
	State any
	// Findings are all findings about the object, in canonical order.
	Findings []model.Finding
	Now      time.Time
}

// StateOf returns the state of an object, or false if it has none. It panics if S is not the type of the dialect's
// relation.
func StateOf[S any](in StatusInput) (state S, has bool) {
	if in.State == nil {
		return state, false
	}
	return in.State.(S), true
}
