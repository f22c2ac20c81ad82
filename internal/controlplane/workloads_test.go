package controlplane

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/dialect/l7mp"
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

// The workload of a pod is found in the cache. If the cache does not have it yet, the pod waits for it.
func TestSelectWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newTestControlPlane()
		cp.engine.Set(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		cache := newAdmissionCache(cp.engine, []dialect.Dialect{appmesh.Dialect{}}, prometheus.NewRegistry())
		cp.start(t)
		broken := frontNode()
		broken.Name, broken.Spec.AWSName = "broken", new("front_a")
		broken.Spec.PodSelector.MatchLabels = map[string]string{"app": "broken"}
		broken.CreationTimestamp = metav1.Now()
		cp.engine.Set(broken)
		synctest.Wait()
		for app, want := range map[string]string{"front": "m/front_a", "other": ""} {
			w, found, err := cache.SelectWorkload(appmesh.Dialect{}, newPod(app))
			if err != nil || found != (want != "") || found && w.Key.String() != want {
				t.Errorf("pod %s: got workload %s (%v), error %v", app, w.Key, found, err)
			}
		}
		if _, found, err := cache.SelectWorkload(appmesh.Dialect{}, newPod("broken")); found || err == nil ||
			!strings.Contains(err.Error(), "is not served: NameConflict: ") {
			t.Errorf("pod of an invalid VirtualNode: got error %v", err)
		}
		go func() {
			time.Sleep(time.Second)
			back := frontNode()
			back.Name, back.Spec.PodSelector.MatchLabels = "back", map[string]string{"app": "back"}
			cp.engine.Set(back)
		}()
		var got string
		begun := time.Now()
		cache.Await(t.Context(), "a", func() bool {
			w, found, err := cache.SelectWorkload(appmesh.Dialect{}, newPod("back"))
			got = w.Key.String()
			return err == nil && found
		})
		if took := time.Since(begun); got != "m/back_a" || took != time.Second {
			t.Errorf("pod of a new VirtualNode: got workload %q after %s", got, took)
		}
	})
}

// The workload of the first pod with its labels does not exist before it.
func TestSelectWorkloadOfFirstPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newTestControlPlane()
		cache := newAdmissionCache(cp.engine, []dialect.Dialect{l7mp.Dialect{}}, prometheus.NewRegistry())
		cp.start(t)
		synctest.Wait()
		pod := newPod("edge")
		if w, found, err := cache.SelectWorkload(l7mp.Dialect{}, pod); found || err != nil {
			t.Errorf("a pod without a proxy: got workload %s, error %v", w.Key, err)
		}
		pod.Spec.Containers = []corev1.Container{{Name: "l7mp"}}
		if w, found, err := cache.SelectWorkload(l7mp.Dialect{}, pod); !found || err != nil || w.Key.Name != "a/edge" {
			t.Errorf("got workload %s (%v), error %v", w.Key, found, err)
		}
	})
}
