package lookup

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/engine"
)

// state has VirtualNodes and VirtualServices "a" in two namespaces and "b" in one, and a pod of each VirtualNode.
func state() *engine.State {
	objects := []client.Object{
		&api.Mesh{
			ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
		},
	}
	for _, at := range []types.NamespacedName{
		{Namespace: "one", Name: "a"}, {Namespace: "two", Name: "a"}, {Namespace: "one", Name: "b"},
	} {
		labels := map[string]string{"app": at.Name}
		meta := metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}
		objects = append(objects,
			&api.VirtualNode{
				ObjectMeta: meta, Spec: api.VirtualNodeSpec{PodSelector: &metav1.LabelSelector{MatchLabels: labels}},
			},
			&api.VirtualService{ObjectMeta: meta},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: at.Namespace, Name: at.Name + "-pod", UID: types.UID(at.String()), Labels: labels,
			},
				Spec: corev1.PodSpec{ServiceAccountName: at.Name}})
	}
	for _, name := range []string{"one", "two"} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return engine.Compute(dialect.All(), engine.Settings{}, objects)
}

func TestFindWorkloadByNames(t *testing.T) {
	s := state()
	for name, want := range map[string]string{
		"a_one": "a_one", "m/a_two": "a_two", "mesh/m/virtualNode/a_two": "a_two", "two/a": "a_two", "b": "b_one", "a": "a_one",
		"pod/a-pod": "a_one", "pod/two/a-pod": "a_two",
	} {
		t.Run(name, func(t *testing.T) {
			if w, err := FindWorkload(s, name, "one"); err != nil || w.Name != want {
				t.Errorf("got %s (error %v), want %s", w.Name, err, want)
			}
		})
	}
	for name, text := range map[string]string{
		"a":           `"a" is ambiguous; use one of one/a, two/a`,
		"c":           "workloads are one/a, two/a, one/b",
		"pod/missing": "pod three/missing not found",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := FindWorkload(s, name, "three"); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want %q", err, text)
			}
		})
	}
}

func TestPodIdentity(t *testing.T) {
	s := state()
	for _, name := range []string{"pod/one/b-pod", "b"} {
		w, err := FindWorkload(s, name, "one")
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := w.Identity(s); !ok || id.String() != "spiffe://cluster.local/ns/one/sa/b" {
			t.Errorf("%s: got identity %s", name, id)
		}
	}
}

func TestFindServiceAndMesh(t *testing.T) {
	s := state()
	for name, want := range map[string]string{
		"a": "a.two", "one/a": "a.one", "a.one": "a.one", "m/b.one": "b.one", "b": "b.one",
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := FindService(s, name, "two"); err != nil || v.Name != want {
				t.Errorf("got %s (error %v), want %s", v.Name, err, want)
			}
		})
	}
	if _, err := FindService(s, "a", "three"); err == nil || !strings.Contains(err.Error(), "is ambiguous") {
		t.Errorf("got %v", err)
	}
	if m, err := FindMesh(s, "m"); err != nil || m.Name != "m" {
		t.Error(m, err)
	}
	if _, err := FindMesh(s, "n"); err == nil {
		t.Error("got a mesh that does not exist")
	}
}
