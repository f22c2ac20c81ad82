package manifest

import (
	"bytes"
	"reflect"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/dialect"
)

// typesOf are the types of kinds.
func typesOf(t *testing.T) map[schema.GroupVersionKind]reflect.Type {
	scheme, err := dialect.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	out := map[schema.GroupVersionKind]reflect.Type{}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			t.Fatal(err)
		}
		out[gvk] = reflect.TypeOf(kind).Elem()
	}
	return out
}

// Read, Repair and Decode accept any input, and findings have a line within the file.
func FuzzRead(f *testing.F) {
	f.Add([]byte("a: 1\n---\n{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: x}}]}\n"))
	f.Add([]byte("apiVersion: appmesh.k8s.aws/v1beta2\nkind: VirtualNode\nmetadata: {name: n}\nspec: {listeners: [{portMapping: {port: x}}, 1], listeners: 2}\n"))
	f.Add([]byte("--- &a [*a]\n---\n? [a]\n: b\n"))
	f.Add([]byte("apiVersion: apps/v1\nkind: Deployment\nspec: {template: 1}\n"))
	f.Add([]byte("apiVersion: appmesh.k8s.aws/v1beta2\nkind: VirtualNod\nmetadata: {nam: n}\nspec: {Listeners: {prt: 1}, podSelector: {matchLabels: {a.b/c: 1}}}\n"))
	f.Add([]byte("\r{")) // a line break in YAML
	f.Add([]byte("a: [\u0085---\r\nb: [\u2028"))
	breaks := regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := Read([]string{Stdin}, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		files.Faults = append(files.Faults, Repair(files.Documents, typesOf(t),
			func(gvk schema.GroupVersionKind) bool { return gvk.Kind != "VirtualNode" })...)
		set, err := Decode(files.Documents, kinds, "here")
		if err != nil {
			t.Fatal(err)
		}
		set.Complete(dialect.All())
		lines := len(breaks.FindAllIndex(text, -1)) + 1
		for _, fault := range append(files.Faults, set.Faults...) {
			if n := fault.Document.LineOf(fault.Path); n < 1 || n > lines {
				t.Errorf("%s: got line %d of %d", fault.Finding, n, lines)
			}
		}
	})
}
