package fieldpath

import (
	"encoding/json"
	"testing"
)

func TestSetAndGet(t *testing.T) {
	for text, want := range map[string]string{
		"spec.workloadRef":                  `{"spec":{"workloadRef":"x"}}`,
		"spec.containers[0].image":          `{"spec":{"containers":[{"image":"x"}]}}`,
		"spec.list[1]":                      `{"spec":{"list":[null,"x"]}}`,
		"metadata.labels[app.oam.dev/name]": `{"metadata":{"labels":{"app.oam.dev/name":"x"}}}`,
		"metadata.labels['a.b'].c":          `{"metadata":{"labels":{"a.b":{"c":"x"}}}}`,
		"a[0][1]":                           `{"a":[[null,"x"]]}`,
	} {
		path, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		object := map[string]any{}
		if err := Set(object, path, "x"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got, _ := json.Marshal(object); string(got) != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if got, ok := Get(object, path); !ok || got != "x" {
			t.Errorf("%s: got %v, %t", text, got, ok)
		}
	}
}

func TestInvalidPaths(t *testing.T) {
	for _, text := range []string{"", ".", "a.", "a..b", "[0]", "a[", "a[]", "a[0].", ".a"} {
		if path, err := Parse(text); err == nil {
			t.Errorf("%q is parsed as %v", text, path)
		}
	}
}

func TestFieldsOfOtherTypesAreKept(t *testing.T) {
	for text, object := range map[string]map[string]any{
		"a.b":       {"a": "text"},
		"a[0]":      {"a": map[string]any{}},
		"a.b.c":     {"a": map[string]any{"b": []any{}}},
		"a[100000]": {},
	} {
		path, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := Set(object, path, "x"); err == nil {
			t.Errorf("%s is set: %v", text, object)
		}
		if value, ok := Get(object, path); ok {
			t.Errorf("%s is %v", text, value)
		}
	}
}
