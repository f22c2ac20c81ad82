package dialect

import "sigs.k8s.io/controller-runtime/pkg/client"

// Keeping is a dialect with an object whose last state stays in force when the object is deleted. The leader keeps a
// copy of it in the namespace of the control plane, of the same kind, which all replicas read as they read the object.
type Keeping interface {
	Dialect
	// KeptCopy returns an empty object with the kind and the name of the copy.
	KeptCopy() client.Object
	// Keep returns the copy in a namespace as it has to be; nil if nothing has to be written. objects are those of the
	// kind, in all namespaces.
	Keep(objects []client.Object, namespace string) client.Object
}
