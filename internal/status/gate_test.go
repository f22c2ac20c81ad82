package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

func gated(name string, gates ...corev1.PodConditionType) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "u"}}
	for _, g := range gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: g})
	}
	return pod
}

// Pods that App Mesh's injector made wait for a registry that is gone: their gate is opened, once, and again when somebody closes it.
// Other gates are others' business.
func TestGatesOfOldPodsAreOpened(t *testing.T) {
	old := gated("old", appmesh.CloudMapGate, "mine")
	old.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: "True"}, {Type: "mine", Status: "False"}}
	ended := gated("ended", appmesh.CloudMapGate)
	ended.Status.Phase = corev1.PodSucceeded
	c := newCluster(t, old, ended, gated("plain"))
	c.Gates = []corev1.PodConditionType{appmesh.CloudMapGate}
	state := func() map[corev1.PodConditionType]corev1.ConditionStatus {
		out := map[corev1.PodConditionType]corev1.ConditionStatus{}
		now := &corev1.Pod{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), now); err != nil {
			t.Fatal(err)
		}
		for _, condition := range now.Status.Conditions {
			out[condition.Type] = condition.Status
		}
		return out
	}
	if c.do(t) || c.written() != 1 {
		t.Error("one pod waits, and there was not one write")
	}
	if got := state(); len(got) != 3 || got[appmesh.CloudMapGate] != "True" || got["mine"] != "False" || got[corev1.ContainersReady] != "True" {
		t.Errorf("conditions: %v", got)
	}
	if c.do(t); c.written() != 0 {
		t.Error("an open gate is opened")
	}
	now := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), now); err != nil {
		t.Fatal(err)
	}
	for i := range now.Status.Conditions {
		now.Status.Conditions[i].Status = "False"
	}
	if err := c.Status().Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if c.do(t); state()[appmesh.CloudMapGate] != "True" {
		t.Error("a gate that somebody closed stays closed")
	}
}
