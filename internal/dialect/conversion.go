package dialect

import "k8s.io/apimachinery/pkg/runtime/schema"

// Conversions is a dialect with kinds whose versions differ. An API server converts their objects by the control plane.
type Conversions interface {
	Dialect
	// ConvertedKinds lists the kinds whose versions differ.
	ConvertedKinds() []schema.GroupKind
	// Convert changes an object of such a kind, as JSON, in place to another served version. Nothing is lost: what a
	// version cannot say comes back in one that can. It is a pure function.
	Convert(object map[string]any, version string) error
}
