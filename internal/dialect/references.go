package dialect

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// References is implemented by dialects with objects that define nothing by themselves, such as groups of routes:
// fields of other objects refer to them.
type References interface {
	// ReferencesTo lists the fields of objects that refer to an object, in order. It reports false for an object that
	// needs no reference.
	ReferencesTo(o client.Object, objects []client.Object) ([]model.Origin, bool)
}
