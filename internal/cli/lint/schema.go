package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"anymesh.dev/anymesh/api/crds"
	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// schemaOf is the schema of a kind, as an API server uses it.
type schemaOf struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

// validate returns the faults of an object. A field that is null but needs a value counts as omitted, as in Kubernetes.
func (s schemaOf) validate(object map[string]any) field.ErrorList {
	defaulting.Default(object, s.structural)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	return validation.ValidateCustomResource(nil, object, s.validator)
}

// schemas compiles the schemas of the kinds of documents.
func schemas(dialects []dialect.Dialect, documents []*manifest.Document) (map[schema.GroupVersionKind]schemaOf, error) {
	used := map[schema.GroupVersionKind]bool{}
	for _, d := range documents {
		used[d.GVK] = true
	}
	all, err := dialect.Definitions(dialects)
	if err != nil {
		return nil, err
	}
	for _, group := range []string{core.GroupVersion.Group, standard.GroupVersion.Group} {
		more, err := crds.OfGroup(group)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	out := map[schema.GroupVersionKind]schemaOf{}
	for _, crd := range all {
		for _, v := range crd.Spec.Versions {
			kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
			if !used[kind] {
				continue
			}
			var internal apiextensions.JSONSchemaProps
			err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
				v.Schema.OpenAPIV3Schema, &internal, nil)
			if err != nil {
				return nil, fmt.Errorf("schema of %s: %w", crd.Name, err)
			}
			validator, _, err := validation.NewSchemaValidator(&internal)
			if err != nil {
				return nil, fmt.Errorf("schema of %s: %w", crd.Name, err)
			}
			structural, err := structuralschema.NewStructural(&internal)
			if err != nil {
				return nil, fmt.Errorf("schema of %s: %w", crd.Name, err)
			}
			out[kind] = schemaOf{structural, validator}
		}
	}
	return out, nil
}

// schemaFaults validates documents with the schemas of their kinds. The text about a value of another kind is the one
// of its repair.
func schemaFaults(dialects []dialect.Dialect, documents []*manifest.Document,
	repaired []manifest.Fault) ([]manifest.Fault, error) {
	rules, err := schemas(dialects, documents)
	if err != nil {
		return nil, err
	}
	var out []manifest.Fault
	for _, d := range documents {
		rule, known := rules[d.GVK]
		if !known {
			continue
		}
		var content map[string]any
		if err := kjson.Unmarshal(d.JSON, &content); err != nil {
			continue // reported by manifest.Decode
		}
		faults := rule.validate(content)
		wrong := map[string]bool{} // fields with values of another kind
		for _, fault := range faults {
			wrong[fault.Field] = wrong[fault.Field] || fault.Type == field.ErrorTypeTypeInvalid
		}
		for _, fault := range faults {
			if wrong[fault.Field] && fault.Type != field.ErrorTypeTypeInvalid {
				continue // such a value violates the other rules of the field, too
			}
			at := model.NewOrigin(d.Ref).At(strings.TrimPrefix(fault.Field, "<nil>"))
			text := reason(fault)
			if i := slices.IndexFunc(repaired, func(f manifest.Fault) bool {
				return f.Document == d && f.Path == at.Path && f.Code == model.CodeUnreadable
			}); i >= 0 {
				text = repaired[i].Text
			}
			out = append(out,
				manifest.Fault{Document: d, Finding: model.NewFinding(at, model.CodeSchema, text)})
		}
	}
	return out, nil
}

// wrongType is the message of the validator about a value of another type.
var wrongType = regexp.MustCompile(`must be of type (\w+): "(\w+)"`)

// kinds are the kinds of values by the name of their type in a schema.
var kinds = map[string]string{
	"object": "an object", "array": "a list", "string": "a string", "integer": "an integer", "number": "a number",
	"boolean": "a boolean", "null": "null",
}

// reason returns the message of a schema violation without the field path.
func reason(fault *field.Error) string {
	if m := wrongType.FindStringSubmatch(fault.Detail); m != nil && fault.Type == field.ErrorTypeTypeInvalid {
		return manifest.WrongKind(kinds[m[2]], kinds[m[1]])
	}
	if fault.Type == field.ErrorTypeInvalid || fault.Type == field.ErrorTypeTypeInvalid {
		return strings.TrimPrefix(fault.Detail, fault.Field+" in body ")
	}
	return fault.ErrorBody()
}
