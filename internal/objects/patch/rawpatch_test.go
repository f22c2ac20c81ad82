package patch

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// thing is an object as far as we know it.
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

// applied makes a change to the object as we know it, and gives the whole object as the API server will have it.
func applied(t testing.TB, raw string, change func(*thing)) string {
	t.Helper()
	var before, after thing
	for _, into := range []*thing{&before, &after} {
		if err := json.Unmarshal([]byte(raw), into); err != nil {
			t.Fatal(err)
		}
	}
	change(&after)
	operations, err := Of([]byte(raw), before, after)
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

func same(t testing.TB, a, b string) bool {
	t.Helper()
	return jsonpatch.Equal([]byte(a), []byte(b))
}

func TestPatchKeepsUnknownFields(t *testing.T) {
	for _, c := range []struct {
		text, raw, want string
		change          func(*thing)
	}{
		{"nothing", `{"spec": null, "new": 1}`, `{"spec": null, "new": 1}`, func(*thing) {}},
		{"a field that was there", `{"spec": {"size": 1, "new": 1}}`, `{"spec": {"size": 2, "new": 1}}`, func(o *thing) { o.Spec.Size = 2 }},
		{"a field in an object that was not there", `{"name": "x"}`, `{"name": "x", "spec": {"size": 2}}`, func(o *thing) { o.Spec.Size = 2 }},
		{"a field in an object that was null", `{"spec": null}`, `{"spec": {"size": 2}}`, func(o *thing) { o.Spec.Size = 2 }},
		{"an entry of a map that was null", `{"labels": null, "spec": {}}`, `{"labels": {"a": "b"}, "spec": {}}`, func(o *thing) { o.Labels = map[string]string{"a": "b"} }},
		{"a key with slashes", `{"labels": {"x": "y"}, "spec": {}}`, `{"labels": {"x": "y", "a/b~c": "d"}, "spec": {}}`, func(o *thing) { o.Labels["a/b~c"] = "d" }},
		{"fields go", `{"labels": {"x": "y", "z": "1"}, "name": "n", "new": 1, "spec": {}}`, `{"labels": {"z": "1"}, "new": 1, "spec": {}}`,
			func(o *thing) { o.Name = ""; delete(o.Labels, "x") }},
		{"an element of a list, another joins", `{"spec": {"parts": [{"name": "a", "port": 1, "new": {"deep": [1]}}]}}`,
			`{"spec": {"parts": [{"name": "a", "port": 2, "new": {"deep": [1]}}, {"name": "b"}]}}`,
			func(o *thing) { o.Spec.Parts[0].Port = 2; o.Spec.Parts = append(o.Spec.Parts, part{Name: "b"}) }},
		{"one joins in front", `{"spec": {"parts": [{"name": "a", "new": 1}, {"name": "b", "new": 2}]}}`,
			`{"spec": {"parts": [{"name": "c"}, {"name": "a", "new": 1}, {"name": "b", "port": 3, "new": 2}]}}`,
			func(o *thing) { o.Spec.Parts[1].Port = 3; o.Spec.Parts = append([]part{{Name: "c"}}, o.Spec.Parts...) }},
		{"one leaves", `{"spec": {"parts": [{"name": "a", "new": 1}, {"name": "b", "new": 2}]}}`, `{"spec": {"parts": [{"name": "b", "new": 2}]}}`,
			func(o *thing) { o.Spec.Parts = o.Spec.Parts[1:] }},
		{"two of one name", `{"spec": {"parts": [{"name": "a", "port": 1, "new": 1}, {"name": "a", "port": 2, "new": 2}]}}`,
			`{"spec": {"parts": [{"name": "a", "port": 1, "new": 1}, {"name": "a", "port": 3, "new": 2}]}}`,
			func(o *thing) { o.Spec.Parts[1].Port = 3 }},
		{"lists of strings", `{"spec": {"parts": [{"args": ["a", "b"], "new": 1}]}}`, `{"spec": {"parts": [{"args": ["b", "b", "c"], "new": 1}]}}`,
			func(o *thing) { o.Spec.Parts[0].Args = []string{"b", "b", "c"} }},
	} {
		if got := applied(t, c.raw, c.change); !same(t, got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestNonObjectIsAnError(t *testing.T) {
	for _, raw := range []string{"", "{", `{"a": 1`} {
		if _, err := Of([]byte(raw), thing{}, thing{Name: "x"}); err == nil {
			t.Errorf("a patch was made to %q", raw)
		}
	}
}

// FuzzOf changes whatever is there: the patch applies, and then the object reads as it should.
func FuzzOf(f *testing.F) {
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
					return // our decoder ignores case, the API server does not let such fields through
				}
			}
		}
		after.Labels = map[string]string{"added": "yes"}
		after.Spec.Size++
		after.Spec.Parts = append(after.Spec.Parts, part{Name: "added"})
		if len(after.Spec.Parts) > 1 {
			after.Spec.Parts[0].Args = append([]string{"first"}, after.Spec.Parts[0].Args...)
		}
		operations, err := Of([]byte(raw), before, after)
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
