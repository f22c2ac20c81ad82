package dialect

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// Roots is a dialect with objects that plan the rotation of the root of the mesh.
type Roots interface {
	Dialect
	// RootReads returns an empty object of each kind that Roots reads, in all namespaces.
	RootReads() []client.Object
	// Roots returns the roots that are trusted by the objects, in order of their age. At most one is active.
	Roots(objects []client.Object) []Root
}

// Root is an object for a root of the mesh.
type Root struct {
	Origin model.Origin
	// Active is true for the root that signs.
	Active bool
	// TrustDomain is that of the identities that it signs; empty for that of the mesh.
	TrustDomain string
}
