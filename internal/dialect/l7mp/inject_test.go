package l7mp_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/l7mp"
)

// The first pod of a workload gets its proxy, with the workload that it makes.
func TestFirstPod(t *testing.T) {
	d := l7mp.Dialect{}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "web", Labels: map[string]string{"app": "gateway", "pod-template-hash": "a"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "l7mp"}}},
	}
	labeled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Labels: map[string]string{"l7mp.io/injection": "enabled"},
	}}
	if mode := d.InjectionMode(pod, labeled); mode != dialect.InjectionEnabled {
		t.Errorf("got mode %v", mode)
	}
	if mode := d.InjectionMode(pod, &corev1.Namespace{}); mode != dialect.InjectionDisabled {
		t.Errorf("got mode %v without the label of the namespace", mode)
	}
	objects := decode(t, fmt.Sprintf(listening, "in", 1, "TCP")+"---\n"+
		strings.Replace(fmt.Sprintf(listening, "other", 1, "UDP"), "app: gateway", "app: other", 1))
	key, found, err := d.SelectWorkload(objects, pod, "web")
	if err != nil || !found || key.String() != "l7mp/web/gateway" {
		t.Fatal(key, found, err)
	}
	w := d.NewWorkload(objects, pod, key)
	if w.Key != key || len(w.Listeners) != 1 || w.Listeners[0].Port != 7000 || w.NodeID != "l7mp/web/gateway" {
		t.Errorf("got %+v", w)
	}
	pod.Spec.Containers[0].Name = "app"
	if mode := d.InjectionMode(pod, labeled); mode != dialect.InjectionDisabled {
		t.Errorf("got mode %v without a container of the proxy", mode)
	}
	if _, found, _ := d.SelectWorkload(objects, pod, "web"); found {
		t.Error("a pod without a container of the proxy has a workload")
	}
}
