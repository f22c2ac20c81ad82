// Package dialect is the contract of dialects, families of API objects that users write, and the list of them.
//
// In come objects of the kinds that a dialect reads; out come the part of the model that they mean and findings about
// them. A dialect is pure: no I/O, no memory, no clock; equal objects in any order give equal results.
//
// To add one: make a folder beside appmesh with functions of the types below, and put it into All.
package dialect

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// Dialect is one family of API objects.
type Dialect struct {
	// Name of the folder.
	Name string
	// Kinds that the functions below read. Namespaces and Pods are among them where selectors speak of them.
	Kinds []schema.GroupVersionKind
	// Translate turns objects into a model fragment and findings, both in canonical order.
	Translate func(objects []client.Object) (model.Model, []model.Finding)
	// Instances compiles all objects but pods into a function that gives the endpoint that a pod is, if it is one.
	// Translate, when it is handed pods, finds the same endpoints: whoever watches pods need not translate anew for each.
	Instances func(objects []client.Object) func(*corev1.Pod) (model.Endpoint, bool)
}

// Settings are the choices of whoever runs the control plane, one member a dialect.
type Settings struct {
	AppMesh appmesh.Settings
}

// All lists the dialects.
func All(s Settings) []Dialect {
	return []Dialect{
		{
			Name:  "appmesh",
			Kinds: appmesh.Kinds(),
			Translate: func(objects []client.Object) (model.Model, []model.Finding) {
				return appmesh.Translate(s.AppMesh, objects)
			},
			Instances: func(objects []client.Object) func(*corev1.Pod) (model.Endpoint, bool) {
				return appmesh.Instances(s.AppMesh, objects)
			},
		},
	}
}

// Translate merges what all dialects make of the objects.
func Translate(dialects []Dialect, objects []client.Object) (*model.Model, []model.Finding) {
	var fragments []model.Model
	var findings []model.Finding
	for _, d := range dialects {
		m, f := d.Translate(objects)
		fragments, findings = append(fragments, m), append(findings, f...)
	}
	return model.Merge(fragments...), model.SortFindings(findings)
}
