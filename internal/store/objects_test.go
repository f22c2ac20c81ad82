package store

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/incremental"
)

func podNamed(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, ResourceVersion: version}}
}

// Whole pods and their parts are the same objects.
func TestPodsOfObjects(t *testing.T) {
	g := incremental.New()
	objects := NewObjects(g)
	pods := Of[*Pod](objects)
	pods.TrackChanges()
	changes := func() int { return len(pods.TakeChanged()) }
	objects.Set(podNamed("p", "1"))
	objects.Set(NewPod(podNamed("q", "1")))
	if n := changes(); n != 2 {
		t.Errorf("got %d new pods", n)
	}
	for _, kind := range []client.Object{&corev1.Pod{}, &Pod{}} {
		got, there := objects.Get(kind, types.NamespacedName{Namespace: "n", Name: "p"})
		if _, is := got.(*Pod); !there || !is {
			t.Errorf("%T: got %T", kind, got)
		}
		if all := objects.List(kind, func(types.NamespacedName) bool { return true }); len(all) != 2 {
			t.Errorf("%T: got %v", kind, all)
		}
	}
	objects.Set(podNamed("p", "2"))
	objects.Set(NewPod(podNamed("q", "2")))
	if n := changes(); n != 0 {
		t.Errorf("%d pods changed with another resourceVersion", n)
	}
	other := podNamed("p", "3")
	other.Labels = map[string]string{"a": "b"}
	objects.Set(other)
	if n := changes(); n != 1 {
		t.Errorf("%d pods changed with another label", n)
	}
	objects.Delete(podNamed("p", "4"))
	objects.Delete(NewPod(podNamed("q", "4")))
	if n := changes(); n != 2 || len(objects.All()) != 0 {
		t.Errorf("got %d deleted pods, others %v", n, objects.All())
	}
}

// A rule that reads whole pods fails at the start, and not with an empty relation.
func TestRelationOfWholePodsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Of[*corev1.Pod](NewObjects(incremental.New()))
}

// Known objects are those that were passed.
func TestKnownObjects(t *testing.T) {
	objects := NewObjects(incremental.New())
	Of[*Pod](objects)
	Of[*corev1.Namespace](objects)
	last, namespace := podNamed("p", "2"), &corev1.Namespace{}
	got := objects.Known([]client.Object{podNamed("q", "1"), podNamed("p", "1"), &corev1.Secret{}, last, namespace})
	if len(got) != 3 || got[0] != client.Object(namespace) || got[1] != client.Object(last) || got[2].GetName() != "q" {
		t.Errorf("got %v", got)
	}
}
