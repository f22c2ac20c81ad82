package lint

import (
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// validators compiles the schemas of all CRDs as an API server does.
func validators(dialects []dialect.Dialect) (map[schema.GroupVersionKind]validation.SchemaValidator, error) {
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
	out := map[schema.GroupVersionKind]validation.SchemaValidator{}
	for _, crd := range all {
		for _, v := range crd.Spec.Versions {
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
			out[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = validator
		}
	}
	return out, nil
}

// schemaFaults validates documents with the schemas of their kinds.
func schemaFaults(dialects []dialect.Dialect, documents []*manifest.Document) ([]manifest.Fault, error) {
	rules, err := validators(dialects)
	if err != nil {
		return nil, err
	}
	var out []manifest.Fault
	for _, d := range documents {
		rule := rules[d.GVK]
		if rule == nil {
			continue
		}
		var content map[string]any
		if err := kjson.Unmarshal(d.JSON, &content); err != nil {
			continue // reported by manifest.Decode
		}
		for _, fault := range validation.ValidateCustomResource(nil, content, rule) {
			at := model.Origin{Object: d.Ref, Path: strings.TrimPrefix(fault.Field, "<nil>")}
			out = append(out,
				manifest.Fault{Document: d, Finding: model.NewFinding(at, model.CodeSchema, reason(fault))})
		}
	}
	return out, nil
}

// reason returns the message of a schema violation without the field path.
func reason(fault *field.Error) string {
	if fault.Type == field.ErrorTypeInvalid || fault.Type == field.ErrorTypeTypeInvalid {
		return strings.TrimPrefix(fault.Detail, fault.Field+" in body ")
	}
	return fault.ErrorBody()
}
