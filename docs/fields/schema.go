// Package fields determines the effect of each field in the schemas of an API.
//
// In: the CRDs, and a small mesh (mesh.yaml, smi.yaml, policies.yaml, l7mp.yaml). Out: the effect of setting each field: the configuration of a sidecar,
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

// step is one segment of a field path, and the schema of its value or list item.
type step struct {
	name     string
	list     bool
	required bool
	schema   *schema // of the value, or of an item of the list
}

// Field is a leaf of the schema of a kind.
type Field struct {
	Kind  string
	steps []step
}

// Path returns the path from the object, with [] after lists: "spec.listeners[].portMapping.port".
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

// All returns all fields of the specs of the kinds, in their stored versions, sorted by group, kind and path. An error
// means that a generated file was edited by hand.
func (a *API) All() ([]Field, error) {
	var out []Field
	for _, group := range a.groups {
		all, err := crds.OfGroup(group)
		if err != nil {
			return nil, err
		}
		for _, crd := range all {
			for _, v := range crd.Spec.Versions {
				if spec := v.Schema.OpenAPIV3Schema.Properties["spec"]; v.Storage {
					collect(&out, Field{crd.Spec.Names.Kind, []step{{name: "spec", schema: &spec}}})
				}
			}
		}
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
