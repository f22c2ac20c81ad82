// Package dialect is the contract of dialects, families of API objects that users write, and the list of them.
//
// In come objects of the kinds that a dialect reads; out come the part of the model that they mean and findings about
// them. A dialect is pure: no I/O, no memory, no clock; equal objects in any order give equal results.
//
// To add one: make a folder beside appmesh with a type that has the methods below, and put it into All.
package dialect

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// Dialect is one family of API objects.
type Dialect interface {
	// Name is the name of the folder.
	Name() string
	// Kinds gives an empty object of each kind that the dialect reads, Namespaces and Pods among them where selectors
	// speak of them.
	Kinds() []client.Object
	// Translate turns objects into a model fragment and findings, both in canonical order. It passes over objects of
	// other kinds, changes none, and never fails: what is wrong with an object is a finding.
	Translate(objects []client.Object) (model.Model, []model.Finding)
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
