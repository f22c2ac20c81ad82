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

func newFakeClient(t *testing.T, objects ...client.Object) client.WithWatch {
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

// A VirtualNode that was created just before its pod is found in the API server if it is not in the cache.
func TestSelectWorkloadFallsBackToAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := frontNode()
		back.Name, back.Spec.PodSelector.MatchLabels = "back", map[string]string{"app": "back"}
		broken := frontNode()
		broken.Name, broken.Spec.AWSName = "broken", new("front_a")
		broken.Spec.PodSelector.MatchLabels = map[string]string{"app": "broken"}
		broken.CreationTimestamp = metav1.Now()
		cp := newTestControlPlane()
		cp.client = newFakeClient(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}}}, frontNode(), back, broken)
		for _, cached := range []bool{false, true} {
			if cached {
				cp.start(t)
			}
			for app, want := range map[string]string{"front": "m/front_a", "back": "m/back_a", "other": ""} {
				w, found, err := workloads{cp}.SelectWorkload(t.Context(), appmesh.Dialect{}, newPod(app))
				if err != nil || found != (want != "") || found && w.Key.String() != want {
					t.Errorf("cache running %v, pod %s: got workload %s (%v), error %v", cached, app, w.Key, found, err)
				}
			}
			if _, found, err := (workloads{cp}).SelectWorkload(t.Context(), appmesh.Dialect{},
				newPod("broken")); found ||
				err == nil || !strings.Contains(err.Error(), "is not served: NameConflict: ") {
				t.Errorf("cache running %v, pod of an invalid VirtualNode: got error %v", cached, err)
			}
		}
	})
}

func TestSelectWorkloadInDeletedNamespace(t *testing.T) {
	cp := newTestControlPlane()
	cp.client = newFakeClient(t)
	if _, _, err := (workloads{cp}).SelectWorkload(t.Context(), appmesh.Dialect{}, newPod("front")); err == nil ||
		!strings.Contains(err.Error(), "namespace a") {
		t.Errorf("got error %v", err)
	}
	if _, err := (namespaces{cp.client}).Labels(t.Context(), "a"); err == nil {
		t.Error("got labels of a namespace that does not exist")
	}
}
