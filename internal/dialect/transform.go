package dialect

import (
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Transforms is a dialect with transforms of the objects that the control plane caches, for example to share equal
// parts.
type Transforms interface {
	// Transforms returns the transform of each kind that has one. It may let objects share lists and maps, but not
	// pointers: the cache writes what they refer to.
	Transforms() map[client.Object]cache.TransformFunc
}
