package dialect

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Finalizers is a dialect whose own kinds have finalizers: of objects with members, or of a former controller.
type Finalizers interface {
	Dialect
	// Finalizers lists the finalizers that are removed: those of the former controller and of MemberFinalizer.
	Finalizers() []string
	// MemberFinalizer returns the finalizer that an object gets because its deletion waits for its members, or "" if
	// its kind has no members. It depends on the kind only.
	MemberFinalizer(o client.Object) string
	// Owners returns the UIDs of the objects whose deletion waits for this one.
	Owners(o client.Object) []types.UID
}
