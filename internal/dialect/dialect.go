// Package dialect is the contract of dialects, families of API objects that users write, and the list of them.
//
// In come objects of the kinds that a dialect reads; out come the part of the model that they mean and findings about
// them. A dialect is a set of rules, each a pure function of the objects and entries that it reads: no I/O, no memory, no clock. The
// rules are evaluated anew where something changed, so that one change costs what it touches; equal objects in any order give equal
// results.
//
// To add one: make a folder beside appmesh with a type that has the methods below, and put it into All.
package dialect

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
)

// Dialect is one family of API objects.
type Dialect interface {
	// Name is the name of the folder.
	Name() string
	// Kinds gives an empty object of each kind that the dialect reads, Namespaces and Pods among them where selectors
	// speak of them.
	Kinds() []client.Object
	// Rules adds the rules that make items of the model, and findings, from objects. They change no object and never fail: what is
	// wrong with an object is a finding.
	Rules(g *incremental.Graph, objects *store.Objects, out *store.Model)
}

// Settings are the choices of whoever runs the control plane, one member a dialect.
type Settings struct {
	AppMesh appmesh.Settings
}

// All lists the dialects.
func All(s Settings) []Dialect {
	return []Dialect{
		appmesh.Dialect{Settings: s.AppMesh},
	}
}
