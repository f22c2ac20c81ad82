package controlplane

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

// apiServer is one in memory.
func apiServer(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := dialect.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func newPod(app string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: app + "-", Labels: map[string]string{"app": app}},
	}
}

// A VirtualNode that was applied an instant before its pod is known to the API server only.
func TestSelectWorkloadFallsBackToAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := frontNode()
		back.Name, back.Spec.PodSelector.MatchLabels = "back", map[string]string{"app": "back"}
		broken := frontNode()
		broken.Name, broken.Spec.AWSName = "broken", new("front_a")
		broken.Spec.PodSelector.MatchLabels = map[string]string{"app": "broken"}
		broken.CreationTimestamp = metav1.Now()
		cp := newPlane()
		cp.client = apiServer(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}}}, frontNode(), back, broken)
		for _, watching := range []bool{false, true} {
			if watching {
				cp.start(t)
			}
			for app, want := range map[string]string{"front": "m/front_a", "back": "m/back_a", "other": ""} {
				w, found, err := workloads{cp}.SelectWorkload(t.Context(), appmesh.Dialect{}, newPod(app))
				if err != nil || found != (want != "") || found && w.Key.String() != want {
					t.Errorf("watching %v: pod of %s is an instance of %s (%v): %v", watching, app, w.Key, found, err)
				}
			}
			if _, found, err := (workloads{cp}).SelectWorkload(t.Context(), appmesh.Dialect{},
				newPod("broken")); found ||
				err == nil || !strings.Contains(err.Error(), "status") {
				t.Errorf("watching %v: a pod of a VirtualNode that is not served: %v", watching, err)
			}
		}
	})
}

func TestSelectWorkloadInDeletedNamespace(t *testing.T) {
	cp := newPlane()
	cp.client = apiServer(t)
	if _, _, err := (workloads{cp}).SelectWorkload(t.Context(), appmesh.Dialect{}, newPod("front")); err == nil ||
		!strings.Contains(err.Error(), "namespace a") {
		t.Errorf("%v", err)
	}
	if _, err := (namespaces{cp.client}).Labels(t.Context(), "a"); err == nil {
		t.Error("a namespace that does not exist has labels")
	}
}
