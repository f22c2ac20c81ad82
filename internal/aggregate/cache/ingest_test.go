package cache

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var fuzzKind = newKindInfo(Kind{
	Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
	Kind:     "Pod", ListKind: "PodList", Namespaced: true,
})

// What ingest accepts means the same as encoding/json reads, but for the version, the kind and the cluster annotation.
func FuzzIngest(f *testing.F) {
	for _, metadata := range []string{
		``, `,"managedFields":[{"manager":"m","fieldsV1":{"f:status":{"k:{\"ip\":\"10.0.0.1\"}":{},` +
			`"f:conditions":{"f:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":{}}}}}]`,
		`,"managedFields":[5,[],{"fieldsV1":null}]`, `,"managedFields":"x"`, `,"annotations":null`,
		`,"annotations":{"resource.karmada.io/c\u0061ched-from-cluster":"other"}`, `,"annotations":[]`,
		`,"annotations":{"a":1}`, `,"labels":{"a":"\ud800","\u0062":"\\\""}`, `,"labels":{"a":null}`, `,"uid":5`,
		`,"n\u0061me":"b"`, `,"resourceVersion":"8"`, `,"creationTimestamp":` + strings.Repeat("[", 50), `,"x":1e999`,
	} {
		f.Add([]byte(`{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"` + metadata +
			`} , "spec" :{"nodeN\u0061me":"n1","hostNetwork":true},"status":{"podIPs":[{"ip":"1"}],"phase":null}}`))
	}
	f.Add([]byte(`{"metadata":[]}`))
	f.Add([]byte(`{"metadata":{"name":"a"},"metad\u0061ta":{}}`))
	f.Add([]byte(`{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"k\u0069nd":"Node","status":5}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := ingest(fuzzKind, &cluster{name: "c1", identity: "01234567"}, newInterner(), raw)
		if err != nil {
			return
		}
		served := o.of(fuzzKind)
		want, have := decoded(t, raw), decoded(t, served.AppendJSON(nil))
		metadata := want["metadata"].(map[string]any)
		if o.name != metadata["name"] || o.namespace != metadata["namespace"] {
			t.Errorf("name %q, namespace %q", o.name, o.namespace)
		}
		view := labelView{fuzzKind, o}
		labels, _ := metadata["labels"].(map[string]any)
		for key := range labels {
			if !view.Has(key) {
				t.Errorf("label %q is not found", key)
			}
		}
		spec, _ := want["spec"].(map[string]any)
		node, isText := spec["nodeName"].(string)
		if got := (&fieldView{fuzzKind, o}).Get("spec.nodeName"); isText && !hasTwice(t, raw) && got != node {
			t.Errorf("spec.nodeName is %q, not %q", got, node)
		}
		want["kind"], want["apiVersion"] = "Pod", "v1"
		metadata["resourceVersion"] = served.ResourceVersion()
		if metadata["annotations"] == nil {
			metadata["annotations"] = map[string]any{}
		}
		metadata["annotations"].(map[string]any)[ClusterAnnotation] = "c1"
		if !reflect.DeepEqual(want, have) {
			t.Errorf("%v\n%v", want, have)
		}
		decoded(t, served.AppendPartialJSON(nil))
	})
}

func decoded(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out map[string]any
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

// hasTwice reports whether an object of a text has a key twice.
func hasTwice(t *testing.T, raw []byte) bool {
	unique, err := json.Marshal(decoded(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	return tokens(raw) != tokens(unique)
}

func tokens(raw []byte) int {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	n := 0
	for ; ; n++ {
		if _, err := decoder.Token(); err != nil {
			return n
		}
	}
}
