package rewrite

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

var binary = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

func encodeBinary(t testing.TB, o runtime.Object, gvk schema.GroupVersionKind) []byte {
	t.Helper()
	o.GetObjectKind().SetGroupVersionKind(gvk)
	var out bytes.Buffer
	if err := binary.Encode(o, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestProtobufOfEachBuiltInKind guards against a kind whose metadata has another field number.
func TestProtobufOfEachBuiltInKind(t *testing.T) {
	kinds := 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		o, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		accessor, ok := o.(metav1.Object)
		if !ok || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		kinds++
		accessor.SetName("p")
		accessor.SetResourceVersion("g7")
		accessor.SetLabels(map[string]string{"a": "b"})
		accessor.SetAnnotations(map[string]string{annotation: "c1", "kept": "yes"})
		body := encodeBinary(t, o, gvk)
		m := mapping()
		m.UID = "u1"
		got, err := m.Request(Protobuf, body)
		if err != nil {
			t.Errorf("%s: %v", gvk, err)
			continue
		}
		accessor.SetResourceVersion("7")
		accessor.SetUID("u1")
		accessor.SetAnnotations(map[string]string{"kept": "yes"})
		decoded, _, err := binary.Decode(got, nil, nil)
		if d := cmp.Diff(o, decoded); err != nil || d != "" {
			t.Errorf("%s: %v %s", gvk, err, d)
		}
	}
	if kinds < 100 {
		t.Errorf("found only %d kinds", kinds)
	}
}

func TestProtobufPreconditions(t *testing.T) {
	v1 := schema.GroupVersion{Version: "v1"}
	options := func(version string) *metav1.DeleteOptions {
		return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}
	}
	got, err := mapping().Request(Protobuf, encodeBinary(t, options("g7"), v1.WithKind("DeleteOptions")))
	if err != nil {
		t.Fatal(err)
	}
	decoded, _, err := binary.Decode(got, nil, nil)
	if d := cmp.Diff(options("7").Preconditions, decoded.(*metav1.DeleteOptions).Preconditions); err != nil || d != "" {
		t.Error(err, d)
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}, DeleteOptions: options("g7")}
	got, err = mapping().Request(Protobuf, encodeBinary(t, eviction, policyv1.SchemeGroupVersion.WithKind("Eviction")))
	if err != nil {
		t.Fatal(err)
	}
	decoded, _, err = binary.Decode(got, nil, nil)
	if d := cmp.Diff(options("7"), decoded.(*policyv1.Eviction).DeleteOptions); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestProtobufKeepsUnknownFields(t *testing.T) {
	pod, _ := scheme.Scheme.New(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	pod.(metav1.Object).SetResourceVersion("g7")
	body := encodeBinary(t, pod, schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	newer := func(raw []byte) ([]byte, error) {
		return protowire.AppendString(protowire.AppendTag(bytes.Clone(raw), 999, protowire.BytesType), "newer"), nil
	}
	body, err := replaceFields(bytes.Clone(protobufPrefix), body[len(protobufPrefix):], unknownRaw, newer)
	if err != nil {
		t.Fatal(err)
	}
	got, err := mapping().Request(Protobuf, body)
	if err != nil || !bytes.Contains(got, []byte("newer")) || bytes.Contains(got, []byte("g7")) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestProtobufVersionOfAnotherClusterIsAnError(t *testing.T) {
	pod, _ := scheme.Scheme.New(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	pod.(metav1.Object).SetResourceVersion("g7")
	m := mapping()
	missing := errors.New("missing")
	m.In = func(string) (string, error) { return "", missing }
	_, err := m.Request(Protobuf, encodeBinary(t, pod, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}))
	if !errors.Is(err, missing) {
		t.Error(err)
	}
}

// FuzzProtobuf checks that a mapped body can be mapped again.
func FuzzProtobuf(f *testing.F) {
	pod, _ := scheme.Scheme.New(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	pod.(metav1.Object).SetResourceVersion("g7")
	pod.(metav1.Object).SetAnnotations(map[string]string{annotation: "c1"})
	f.Add(encodeBinary(f, pod, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}))
	f.Fuzz(func(t *testing.T, body []byte) {
		m := mapping()
		m.UID = "u1"
		m.In = func(text string) (string, error) { return text, nil }
		got, err := m.Request(Protobuf, body)
		if err != nil || len(bytes.TrimSpace(body)) == 0 {
			return
		}
		again, err := m.Request(Protobuf, got)
		if err != nil || !bytes.Equal(got, again) {
			t.Errorf("%q becomes %q and then %q, %v", body, got, again, err)
		}
	})
}
