package install

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Who may view a namespace may read the objects of each kind that Anymesh defines, and who may edit it may write those
// with a namespace.
func TestRolesOfUsers(t *testing.T) {
	objects := render(t, Options{Namespace: "n", Values: withAggregator})
	allows := func(role, label, group, resource, verb string) bool {
		o := find(t, objects, "ClusterRole", role)
		if o.GetLabels()["rbac.authorization.k8s.io/aggregate-to-"+label] != "true" {
			t.Fatalf("%s is not aggregated to %s", role, label)
		}
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		return slices.ContainsFunc(rules, func(r any) bool {
			has := func(field, value string) bool {
				values, _, _ := unstructured.NestedStringSlice(r.(map[string]any), field)
				return slices.Contains(values, value)
			}
			return has("apiGroups", group) && has("resources", resource) && has("verbs", verb)
		})
	}
	kinds := 0
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		kinds++
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		resource, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
		scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
		if !allows("anymesh-view", "view", group, resource, "watch") {
			t.Errorf("view does not allow to read %s.%s", resource, group)
		}
		ofPlatform := strings.HasSuffix(resource, "definitions") // what applications may consist of
		if got := allows("anymesh-edit", "edit", group, resource, "patch"); got != (scope == "Namespaced" && !ofPlatform) {
			t.Errorf("edit allows to write %s.%s: %t, scope %s", resource, group, got, scope)
		}
	}
	if kinds < 7 {
		t.Errorf("got %d kinds", kinds)
	}
}
