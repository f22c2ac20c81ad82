package rewrite

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

var serializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

func encoded(t testing.TB, o runtime.Object) []byte {
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := o.(*metav1.DeleteOptions); ok {
		kinds[0] = corev1.SchemeGroupVersion.WithKind("DeleteOptions")
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	var out bytes.Buffer
	if err := serializer.Encode(o, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Bodies in protobuf are mapped as those in JSON.
func TestProtobufBodiesAreMappedBack(t *testing.T) {
	version, uid := "g7", types.UID("u")
	annotated := metav1.ObjectMeta{
		Name: "p", Namespace: "n", ResourceVersion: version, Annotations: map[string]string{annotation: "c1", "a": "b"},
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
	bare := options
	for name, o := range map[string]runtime.Object{
		"pod":            &corev1.Pod{ObjectMeta: annotated, Spec: corev1.PodSpec{NodeName: "n1"}},
		"pod with a uid": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "other"}},
		"without a version": &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"resourceVersion": "g7"},
		},
		"options":  &bare,
		"eviction": &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: version}, DeleteOptions: &options},
		"binding":  &corev1.Binding{ObjectMeta: annotated, Target: corev1.ObjectReference{Name: "node"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapping()
			m.UID = "u1"
			if name == "options" {
				m.UID = "" // DELETE has none.
			}
			body := encoded(t, o)
			mapped, err := m.Request(Protobuf, body)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := serializer.Decode(mapped, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			if text, err = m.Request(JSON, text); err != nil {
				t.Fatal(err)
			}
			have, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tree(t, string(text)), tree(t, string(have))); d != "" {
				t.Error(d)
			}
		})
	}
}

// A member can be newer than this program.
func TestUnknownProtobufFieldsAreKept(t *testing.T) {
	unknown := protowire.AppendString(protowire.AppendTag(nil, 900, protowire.BytesType), "of a newer version")
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	raw := append(field(objectMetadata, append(field(metadataVersion, []byte("g7")), unknown...)), unknown...)
	body := append(bytes.Clone(protobufMagic),
		protowire.AppendBytes(protowire.AppendTag(nil, unknownRaw, protowire.BytesType), raw)...)
	got, err := mapping().Request(Protobuf, body)
	if err != nil || bytes.Count(got, unknown) != 2 || bytes.Contains(got, []byte("g7")) {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzProtobufBodies(f *testing.F) {
	f.Add(encoded(f, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", ResourceVersion: "g7", Annotations: map[string]string{annotation: "c1"},
	}}))
	f.Add([]byte("k8s\x00\x12\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		mapped, err := mapping().Request(Protobuf, body)
		if err != nil || len(mapped) == 0 {
			return
		}
		// What is mapped has no version of this server, so that it cannot be mapped again.
		if o, _, err := serializer.Decode(mapped, nil, nil); err == nil {
			if pod, ok := o.(*corev1.Pod); ok && (pod.Annotations[annotation] != "" || len(pod.ResourceVersion) > 0 &&
				pod.ResourceVersion[0] == 'g' && !bytes.Contains(body, []byte("gg"))) {
				t.Errorf("%q has %+v", mapped, pod.ObjectMeta)
			}
		}
	})
}
