package patch

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// thing is the typed view of an object.
type thing struct {
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Spec   spec              `json:"spec"`
}

type spec struct {
	Size  int    `json:"size,omitempty"`
	Parts []part `json:"parts,omitempty"`
}

type part struct {
	Name string   `json:"name,omitempty"`
	Port int      `json:"port,omitempty"`
	Args []string `json:"args,omitempty"`
}

// applyChange changes the typed view and returns the patched object.
func applyChange(t testing.TB, raw string, change func(*thing)) string {
	t.Helper()
	var before, after thing
	for _, into := range []*thing{&before, &after} {
		if err := json.Unmarshal([]byte(raw), into); err != nil {
			t.Fatal(err)
		}
	}
	change(&after)
	operations, err := Diff([]byte(raw), before, after)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	if len(operations) == 0 {
		return raw
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply([]byte(raw))
	if err != nil {
		t.Fatalf("%s does not apply to %s: %v", text, raw, err)
	}
	return string(out)
}

func equalJSON(t testing.TB, a, b string) bool {
	t.Helper()
	return jsonpatch.Equal([]byte(a), []byte(b))
}

func TestDiffKeepsUnknownFields(t *testing.T) {
	for _, c := range []struct {
		name, raw, want string
		change          func(*thing)
	}{
		{"no change", `{"spec": null, "new": 1}`, `{"spec": null, "new": 1}`, func(*thing) {}},
		{"existing field", `{"spec": {"size": 1, "new": 1}}`, `{"spec": {"size": 2, "new": 1}}`, func(o *thing) { o.Spec.Size = 2 }},
		{"field of a missing object", `{"name": "x"}`, `{"name": "x", "spec": {"size": 2}}`, func(o *thing) { o.Spec.Size = 2 }},
		{"field of a null object", `{"spec": null}`, `{"spec": {"size": 2}}`, func(o *thing) { o.Spec.Size = 2 }},
		{"entry of a null map", `{"labels": null, "spec": {}}`, `{"labels": {"a": "b"}, "spec": {}}`, func(o *thing) { o.Labels = map[string]string{"a": "b"} }},
		{"key with slash and tilde", `{"labels": {"x": "y"}, "spec": {}}`, `{"labels": {"x": "y", "a/b~c": "d"}, "spec": {}}`, func(o *thing) { o.Labels["a/b~c"] = "d" }},
		{"removed fields", `{"labels": {"x": "y", "z": "1"}, "name": "n", "new": 1, "spec": {}}`, `{"labels": {"z": "1"}, "new": 1, "spec": {}}`,
			func(o *thing) { o.Name = ""; delete(o.Labels, "x") }},
		{"changed and appended list element", `{"spec": {"parts": [{"name": "a", "port": 1, "new": {"deep": [1]}}]}}`,
			`{"spec": {"parts": [{"name": "a", "port": 2, "new": {"deep": [1]}}, {"name": "b"}]}}`,
			func(o *thing) { o.Spec.Parts[0].Port = 2; o.Spec.Parts = append(o.Spec.Parts, part{Name: "b"}) }},
		{"prepended list element", `{"spec": {"parts": [{"name": "a", "new": 1}, {"name": "b", "new": 2}]}}`,
			`{"spec": {"parts": [{"name": "c"}, {"name": "a", "new": 1}, {"name": "b", "port": 3, "new": 2}]}}`,
			func(o *thing) { o.Spec.Parts[1].Port = 3; o.Spec.Parts = append([]part{{Name: "c"}}, o.Spec.Parts...) }},
		{"removed list element", `{"spec": {"parts": [{"name": "a", "new": 1}, {"name": "b", "new": 2}]}}`, `{"spec": {"parts": [{"name": "b", "new": 2}]}}`,
			func(o *thing) { o.Spec.Parts = o.Spec.Parts[1:] }},
		{"two elements with the same name", `{"spec": {"parts": [{"name": "a", "port": 1, "new": 1}, {"name": "a", "port": 2, "new": 2}]}}`,
			`{"spec": {"parts": [{"name": "a", "port": 1, "new": 1}, {"name": "a", "port": 3, "new": 2}]}}`,
			func(o *thing) { o.Spec.Parts[1].Port = 3 }},
		{"list of strings", `{"spec": {"parts": [{"args": ["a", "b"], "new": 1}]}}`, `{"spec": {"parts": [{"args": ["b", "b", "c"], "new": 1}]}}`,
			func(o *thing) { o.Spec.Parts[0].Args = []string{"b", "b", "c"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := applyChange(t, c.raw, c.change); !equalJSON(t, got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDiffRejectsInvalidJSON(t *testing.T) {
	for _, raw := range []string{"", "{", `{"a": 1`} {
		if _, err := Diff([]byte(raw), thing{}, thing{Name: "x"}); err == nil {
			t.Errorf("%q: got no error", raw)
		}
	}
}

// FuzzDiff changes any object: the patch applies, and the result decodes to the changed view.
func FuzzDiff(f *testing.F) {
	f.Add(`{"name": "x", "labels": {"a": "b"}, "spec": {"parts": [{"name": "a", "new": 1}, {"port": 2}]}, "more": [null, 1e3]}`)
	f.Add(`{"spec": null, "spec": {"size": 1}, "labels": null}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var before, after thing
		if json.Unmarshal([]byte(raw), &before) != nil || json.Unmarshal([]byte(raw), &after) != nil {
			return
		}
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(raw), &object) != nil || object == nil {
			return
		}
		for name := range object {
			for _, known := range []string{"name", "labels", "spec"} {
				if name != known && len(name) == len(known) {
					return // encoding/json ignores case; the API server rejects such fields
				}
			}
		}
		after.Labels = map[string]string{"added": "yes"}
		after.Spec.Size++
		after.Spec.Parts = append(after.Spec.Parts, part{Name: "added"})
		if len(after.Spec.Parts) > 1 {
			after.Spec.Parts[0].Args = append([]string{"first"}, after.Spec.Parts[0].Args...)
		}
		operations, err := Diff([]byte(raw), before, after)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(operations)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(text)
		if err != nil {
			t.Fatal(err)
		}
		out, err := patch.Apply([]byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got thing
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		have, _ := json.Marshal(got)
		want, _ := json.Marshal(after)
		if string(have) != string(want) {
			t.Errorf("got  %s\nwant %s", have, want)
		}
	})
}

// A change of a large object needs little memory besides that of its decoded forms.
func TestMemoryOfDiff(t *testing.T) {
	const size = 1 << 20
	before := map[string]any{"a": map[string]any{"b": map[string]any{"large": strings.Repeat("x", size), "c": "1"}}}
	after := map[string]any{"a": map[string]any{"b": map[string]any{"large": strings.Repeat("x", size), "c": "2"}}}
	raw, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Diff(raw, before, after); err != nil {
				b.Fatal(err)
			}
		}
	})
	// It is 18, and 21 with the race detector; 41 if values are encoded to compare them.
	if perObject := result.AllocedBytesPerOp() / size; perObject > 28 {
		t.Errorf("%d times the size of the object", perObject)
	} else {
		t.Logf("%d times the size of the object", perObject)
	}
}
