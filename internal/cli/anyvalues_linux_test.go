package cli

import (
	"encoding/json"
	"maps"
	"runtime/debug"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/charts"
	"anymesh.dev/anymesh/internal/cli/install"
)

// wrong are values that few places allow.
var wrong = []any{nil, 1e12}

// TestAnyValue sets each value of the chart to these: the control plane accepts what the chart accepts.
func TestAnyValue(t *testing.T) {
	text, err := charts.Anymesh.ReadFile("anymesh/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	// Collections also drop the decoded CustomResourceDefinitions: fewer of them halve the time of this test.
	t.Setenv("GOGC", "400") // the control plane keeps it
	percent := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	accepted := 0
	each(values, func(path []string) {
		for _, w := range wrong {
			var override any = w
			for _, name := range slices.Backward(path) {
				override = map[string]any{name: override}
			}
			encoded, err := json.Marshal(override)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := install.Manifests(install.Options{Namespace: "n", Values: override.(map[string]any), SkipCRDs: true}); err != nil {
				continue
			}
			accepted++
			if code, out := startWith(t, string(encoded)); code != 0 {
				t.Errorf("the chart accepts %s, the control plane exits with %d: %s", encoded, code, out)
			}
		}
	})
	if accepted < 50 {
		t.Errorf("only %d values were accepted", accepted)
	}
}

// each calls f with the path of each value that has no values of its own.
func each(values map[string]any, f func(path []string)) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if inner, is := values[name].(map[string]any); is && len(inner) > 0 {
			each(inner, func(path []string) { f(append([]string{name}, path...)) })
		} else {
			f([]string{name})
		}
	}
}
