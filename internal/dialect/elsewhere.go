package dialect

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// Elsewhere is a dialect whose kinds have objects that other controllers serve.
type Elsewhere interface {
	// ServedElsewhere returns the object with a host name that another controller serves, and who serves it, as a
	// sentence. It reports false if there is none.
	ServedElsewhere(objects []client.Object, host string) (at model.Origin, text string, is bool)
}
