package dialect

import "sigs.k8s.io/controller-runtime/pkg/client"

// Refusals is a dialect that refuses some objects of its kinds, for what they were before and for other objects of the
// kind. It sets no defaults; see Admission for those.
type Refusals interface {
	Dialect
	// RefusedKinds returns an empty object of each kind with refusals.
	RefusedKinds() []client.Object
	// Refuse returns a *Refusal of an object, or nil. before is nil for a new object. objects are the stored ones of the
	// kind, in all namespaces; without them, it judges the object alone.
	Refuse(before, object client.Object, objects []client.Object) error
}
