// Package dialect is the contract of dialects, families of API objects that users write, and their registry.
//
// In: the objects of the kinds that a dialect reads. Out: the items of the model that they mean, and findings about
// them. A dialect is a set of rules, each a pure function of the objects and entries that it reads: no I/O, no memory,
// no clock. Rules are evaluated again where their input changed, so that one change costs what it touches; equal
// objects in any order give equal results.
//
// Every dialect has the methods of Dialect. What only some dialects need is an optional interface, which is defined in
// the package that calls it; README.md lists them. The types that those interfaces share are here.
//
// To add a dialect, make a folder with a type that has the methods, and list it in package builtin.
package dialect

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
)

// Dialect is one family of API objects.
type Dialect interface {
	// Name is the name of the folder. The chart value of this name holds the dialect's settings.
	Name() string
	// Title is the name that users know.
	Title() string
	// AddToScheme adds the dialect's own kinds and their lists to a scheme.
	AddToScheme(*runtime.Scheme) error
	// Definitions gives the CustomResourceDefinitions of the dialect's own kinds; kinds that come with the cluster have
	// none. An error means that a generated file was edited by hand.
	Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error)
	// Kinds gives an empty object of each kind that the dialect reads, Namespaces and Pods among them where selectors
	// refer to them. A kind stands behind the kinds that its admission reads.
	Kinds() []client.Object
	// Rules adds the rules that make items of the model, and findings, from objects. They change no object and never
	// fail: a fault of an object is a finding.
	Rules(g *incremental.Graph, objects *store.Objects, out *store.Model)
}

// DefaultTrustDomain is the trust domain of identities unless settings name another.
const DefaultTrustDomain = "cluster.local"
