package rewrite

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const annotation = "resource.karmada.io/cached-from-cluster"

var errVersion = errors.New("not a version")

// mapping maps g7 to 7 and back.
func mapping() Mapping {
	return Mapping{
		Annotation: annotation, Cluster: "c1",
		In: func(text string) (string, error) {
			rest, ok := strings.CutPrefix(text, "g")
			if !ok && text != "" {
				return "", errVersion
			}
			return rest, nil
		},
		Out: func(text string) (string, error) { return "g" + text, nil },
	}
}

// TestWriteBodiesAreMappedBack guards optimistic locks: every body that can carry a version, of every kind of write.
func TestWriteBodiesAreMappedBack(t *testing.T) {
	const note = `"` + annotation + `":"c1"`
	for _, c := range []struct{ name, contentType, body, want string }{
		{"update that must not create", JSON,
			`{"kind":"Pod","metadata":{"resourceVersion":"g7","annotations":{"a":"b",` + note + `}},"odd":1e3}`,
			`{"kind":"Pod","metadata":{"resourceVersion":"7","annotations":{"a":"b"},"uid":"u1"},"odd":1e3}`},
		{"merge patch", MergePatch, `{"metadata":{"resourceVersion":"g7","annotations":{"a":null}}}`,
			`{"metadata":{"resourceVersion":"7","annotations":{"a":null}}}`},
		{"strategic merge patch", StrategicPatch, `{"metadata":{"annotations":null},"spec":{"x":[]}}`,
			`{"metadata":{"annotations":null},"spec":{"x":[]}}`},
		{"server-side apply that must not create", Apply, "metadata:\n  name: p\n  resourceVersion: g7\n",
			`{"metadata":{"name":"p","resourceVersion":"7","uid":"u1"}}`},
		{"delete with preconditions", JSON, `{"preconditions":{"uid":"u","resourceVersion":"g7"}}`,
			`{"preconditions":{"uid":"u","resourceVersion":"7"}}`},
		{"eviction", JSON, `{"metadata":{"name":"p"},"deleteOptions":{"preconditions":{"resourceVersion":"g7"}}}`,
			`{"metadata":{"name":"p"},"deleteOptions":{"preconditions":{"resourceVersion":"7"}}}`},
		{"JSON patch", JSONPatch, `[{"op":"test","path":"/metadata/resourceVersion","value":"g7"},` +
			`{"op":"remove","path":"/metadata/annotations/resource.karmada.io~1cached-from-cluster"},` +
			`{"op":"add","path":"/metadata/annotations","value":{` + note + `}},` +
			`{"op":"replace","path":"/metadata","value":{"resourceVersion":"g8","annotations":{` + note + `}}}]`,
			`[{"op":"test","path":"/metadata/resourceVersion","value":"7"},` +
				`{"op":"add","path":"/metadata/annotations","value":{}},` +
				`{"op":"replace","path":"/metadata","value":{"resourceVersion":"8","annotations":{}}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mapping()
			if strings.HasSuffix(c.name, "must not create") {
				m.UID = "u1"
			}
			got, err := m.Request(c.contentType, []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tree(t, c.want), tree(t, string(got))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAnswersAreMappedForward(t *testing.T) {
	got, err := mapping().Response([]byte(`{"kind":"Scale","metadata":{"resourceVersion":"7","name":"p"},"spec":{"replicas":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"Scale","metadata":{"resourceVersion":"g7","name":"p","annotations":{"` + annotation +
		`":"c1"}},"spec":{"replicas":1}}`
	if d := cmp.Diff(tree(t, want), tree(t, string(got))); d != "" {
		t.Error(d)
	}
	status := `{"kind":"Status","metadata":{},"code":404}`
	if got, err := mapping().Response([]byte(status)); err != nil || string(got) != status {
		t.Errorf("a Status becomes %s, %v", got, err)
	}
}

func TestBodiesThatCannotBeMappedAreErrors(t *testing.T) {
	for _, c := range []struct{ contentType, body string }{
		{"application/cbor", "{}"},
		{Protobuf, "metadata"},
		{Protobuf, "k8s\x00\x12\x7f"},
		{JSON, `[]`},
		{JSON, `null`},
		{JSON, `{"metadata":{"resourceVersion":7}}`},
		{JSON, `{"metadata":{"resourceVersion":"7"}}`},
		{JSON, `{"metadata":"text"}`},
		{JSONPatch, `{"op":"add"}`},
		{JSONPatch, `[{"op":"test","path":"/metadata/resourceVersion","value":"7"}]`},
		{JSONPatch, `[{"op":"test","path":7}]`},
		{Apply, "a: b: c"},
	} {
		if got, err := mapping().Request(c.contentType, []byte(c.body)); err == nil {
			t.Errorf("%s %s becomes %s", c.contentType, c.body, got)
		}
	}
}

// FuzzRequest checks that a mapped body has no version of the aggregated view: mapping it again is an error or changes
// nothing.
func FuzzRequest(f *testing.F) {
	f.Add(`{"metadata":{"resourceVersion":"g7"}}`)
	f.Add(`{"preconditions":{"resourceVersion":"g7"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		m := mapping()
		got, err := m.Request(JSON, []byte(body))
		if err != nil || len(got) == 0 {
			return
		}
		m.In = func(text string) (string, error) {
			if strings.HasPrefix(text, "g") && !strings.Contains(body, "gg") && !strings.Contains(body, `\`) {
				t.Errorf("%q becomes %s", body, got)
			}
			return text, nil
		}
		if _, err := m.Request(JSON, got); err != nil {
			t.Errorf("%q becomes %s, which is not valid: %v", body, got, err)
		}
	})
}

func tree(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
