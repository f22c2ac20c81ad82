// Package fields determines the effect of each field in the schemas of App Mesh.
//
// In: the CRDs, and a small mesh (mesh.yaml). Out: the effect of setting each field: the configuration of a sidecar,
// the model, the admission response or the findings change, or there is no effect.
package fields

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"anymesh.dev/anymesh/api/crds"
)

type schema = apiextensionsv1.JSONSchemaProps

// step is one name on the way to a field, and the schema of what it holds; a list is stepped into.
type step struct {
	name     string
	list     bool
	required bool
	schema   *schema // of the value, or of an item of the list
}

// Field is a field of a kind that holds a value, not other fields: a leaf of its schema.
type Field struct {
	Kind  string
	steps []step
}

// Path is the way from the object, with [] behind lists: "spec.listeners[].portMapping.port".
func (f Field) Path() string {
	var names []string
	for _, s := range f.steps {
		name := s.name
		if s.list {
			name += "[]"
		}
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

// All gives the fields of every kind's spec, by kind and path. An error means that a generated file was edited by hand.
func All() ([]Field, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	var out []Field
	for _, crd := range all {
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		collect(&out, Field{crd.Spec.Names.Kind, []step{{name: "spec", schema: &spec}}})
	}
	return out, nil
}

func collect(out *[]Field, at Field) {
	here := at.steps[len(at.steps)-1].schema
	if len(here.Properties) == 0 {
		*out = append(*out, at)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(here.Properties)) {
		property := here.Properties[name]
		s := step{name: name, schema: &property, required: slices.Contains(here.Required, name)}
		if property.Items != nil && len(property.Items.Schema.Properties) > 0 {
			s.list, s.schema = true, property.Items.Schema
		}
		collect(out, Field{at.Kind, append(slices.Clone(at.steps), s)})
	}
}
