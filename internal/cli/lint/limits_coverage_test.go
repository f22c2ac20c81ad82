package lint_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"anymesh.dev/anymesh/api/crds"
)

// Every required field and every field with a limit in a schema has a test case with valid and invalid values.
func TestEverySchemaLimitHasTestCase(t *testing.T) {
	values, required := map[string]bool{}, map[string]bool{}
	for _, row := range limitCases() {
		at := row.kind + "." + strings.ReplaceAll(row.path, "[0]", "[]")
		if len(row.invalid) == 0 || len(row.valid) == 0 {
			t.Errorf("%s: got invalid values %v and valid values %v, want at least one of each", at, row.invalid,
				row.valid)
		}
		for _, v := range row.invalid {
			if v == any(absent) {
				required[at] = true
			} else {
				values[at] = true
			}
		}
	}
	all, err := crds.OfGroup("appmesh.k8s.aws")
	if err != nil {
		t.Fatal(err)
	}
	limited := 0
	for _, crd := range all {
		for _, path := range slices.Sorted(maps.Keys(limitedFields(crd))) {
			limited++
			if name := strings.TrimPrefix(path, "required "); name != path && !required[name] || name == path &&
				!values[path] {
				t.Errorf("no test case for %s", path)
			}
		}
	}
	if limited < 300 {
		t.Errorf("got %d fields with limits, want at least 300", limited)
	}
}

// limitedFields returns the paths of the fields with limits, and the paths of required fields with the prefix
// "required ".
func limitedFields(crd *apiextensionsv1.CustomResourceDefinition) map[string]bool {
	out := map[string]bool{}
	var walk func(path string, s *apiextensionsv1.JSONSchemaProps)
	walk = func(path string, s *apiextensionsv1.JSONSchemaProps) {
		atLeast := func(n *int64) bool { return n != nil && *n > 0 }
		if len(s.Enum) > 0 || s.Minimum != nil || s.Maximum != nil || atLeast(s.MinLength) || s.MaxLength != nil ||
			atLeast(s.MinItems) || s.MaxItems != nil {
			out[path] = true
		}
		for _, name := range s.Required {
			out["required "+path+"."+name] = true
		}
		for name, p := range s.Properties {
			walk(path+"."+name, &p)
		}
		if s.Items != nil {
			walk(path+"[]", s.Items.Schema)
		}
	}
	for _, v := range crd.Spec.Versions {
		for _, part := range []string{"spec", "status"} {
			if p, ok := v.Schema.OpenAPIV3Schema.Properties[part]; ok {
				walk(crd.Spec.Names.Kind+"."+part, &p)
			}
		}
	}
	return out
}
