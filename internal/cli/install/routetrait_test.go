package install

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Without the Route trait, the control plane has none of its rights; uninstall removes them in any case.
func TestRouteTraitOption(t *testing.T) {
	roles := func(o Options) (out []string) {
		for _, o := range render(t, o) {
			if strings.HasPrefix(o.GetName(), "anymesh-route-trait") {
				out = append(out, o.GetKind()+" "+o.GetName())
			}
		}
		return out
	}
	want := []string{
		"ClusterRole anymesh-route-trait", "ClusterRoleBinding anymesh-route-trait",
		"ClusterRole anymesh-route-trait-others", "ClusterRoleBinding anymesh-route-trait-others",
	}
	with := map[string]any{"routeTrait": map[string]any{"enabled": true, "provider": "nginx"}}
	if got := roles(Options{Namespace: "n", Values: with}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	without := Options{Namespace: "n"}
	if got := roles(without); len(got) > 0 {
		t.Errorf("got %v without the Route trait", got)
	}
	if got := roles(without.WithOptionalParts()); !slices.Equal(got, want) {
		t.Errorf("uninstall finds %v, want %v", got, want)
	}
	objects := render(t, Options{Namespace: "n", Values: with})
	settings, _, _ := unstructured.NestedString(find(t, objects, "ConfigMap", "preset-mesh-config").Object, "data", "route-trait.json")
	if settings != `{"definitionNamespace":"","enabled":true,"provider":"nginx"}` {
		t.Errorf("got settings %s", settings)
	}
	for _, name := range []string{"routes.standard.oam.dev", "workloaddefinitions.core.oam.dev"} {
		if crd := find(t, objects, "CustomResourceDefinition", name); crd.GetAnnotations()[existsAnnotation] != "keep" {
			t.Errorf("%s replaces the definition of another program", name)
		}
	}
}
