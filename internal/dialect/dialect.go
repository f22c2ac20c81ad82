// Package dialect is the contract of dialects, and their registry. A dialect is a family of API objects that users
// write.
//
// In: the objects of the kinds that a dialect reads. Out: model items and findings. A dialect is a set of rules. A
// rule is a pure function of the objects and entries that it reads, without I/O, state or clock. A rule is evaluated
// again when its input changes, so that the cost of a change depends on the affected objects only. The order of the
// objects is not significant.
//
// Every dialect implements Dialect. What only some dialects are is an optional interface of this package; README.md
// lists them all. The packages that call one assert it, see Implementing.
//
// To add a dialect, make a folder with a type that implements Dialect, and list it in package builtin.
package dialect

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
)

// Dialect is a family of API objects.
type Dialect interface {
	// Name is the name of the folder. The chart value of this name holds the dialect's settings.
	Name() string
	// Title is the display name.
	Title() string
	// AddToScheme adds the dialect's own kinds and their lists to a scheme.
	AddToScheme(*runtime.Scheme) error
	// Definitions returns the CustomResourceDefinitions of the dialect's own kinds. Built-in kinds have none. An
	// error means that a generated file is invalid.
	Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error)
	// Kinds returns an empty object of each kind that the dialect reads, including Namespaces and Pods if selectors
	// match them. A kind is listed after the kinds that its admission reads.
	Kinds() []client.Object
	// Rules adds the rules that derive model items and findings from objects. Each rule declares what it reads and
	// emits. Rules do not change objects and do not fail: an invalid object is a finding.
	Rules(g *incremental.Graph, objects *store.Objects, out *store.Model)
}

// Implementing returns the dialects that implement an optional interface.
func Implementing[T any](dialects []Dialect) []T {
	var out []T
	for _, d := range dialects {
		if t, is := d.(T); is {
			out = append(out, t)
		}
	}
	return out
}

// DefaultTrustDomain is the default trust domain of identities.
const DefaultTrustDomain = "cluster.local"
