package lint_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"anymesh.dev/anymesh/api/crds"
)

// TestAllSchemaLimitsAreTested: no field of a schema is needed, or is held to certain values, unless a row has what is
// refused and what is accepted.
func TestAllSchemaLimitsAreTested(t *testing.T) {
	values, needs := map[string]bool{}, map[string]bool{}
	for _, row := range limits() {
		at := row.kind + "." + strings.ReplaceAll(row.path, "[0]", "[]")
		if len(row.refused) == 0 || len(row.accepted) == 0 {
			t.Errorf("%s: the row refuses %v and takes %v; it has to show both", at, row.refused, row.accepted)
		}
		for _, v := range row.refused {
			if v == any(absent) {
				needs[at] = true
			} else {
				values[at] = true
			}
		}
	}
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	limited := 0
	for _, crd := range all {
		for _, path := range slices.Sorted(maps.Keys(limitedFields(crd))) {
			limited++
			if needed := strings.TrimPrefix(path, "needed "); needed != path && !needs[needed] || needed == path &&
				!values[path] {
				t.Errorf("no row of the table is about %s", path)
			}
		}
	}
	if limited < 300 {
		t.Errorf("the schemas limit only %d fields", limited)
	}
}

// limitedFields are the paths of the fields that a schema holds to certain values, and "needed " and the path of those
// that must be there.
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
			out["needed "+path+"."+name] = true
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
