package status

import (
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// cloudMapGate is that of App Mesh.
const cloudMapGate corev1.PodConditionType = "conditions.appmesh.k8s.aws/aws-cloudmap-healthy"

func gated(name string, gates ...corev1.PodConditionType) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "u"}}
	for _, g := range gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: g})
	}
	return pod
}

// Pods that App Mesh's injector made wait for a registry that is gone: their gate is opened, once, and again when
// somebody closes it. Other gates are others' business.
func TestReadinessGatesAreOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := gated("old", cloudMapGate, "mine")
		old.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.ContainersReady, Status: "True"}, {Type: "mine", Status: "False"},
		}
		ended := gated("ended", cloudMapGate)
		ended.Status.Phase = corev1.PodSucceeded
		c := newCluster(t, func(o *Options) { o.Gates = appmesh.Dialect{}.ReadinessGates() })
		now := func() *corev1.Pod {
			pod := &corev1.Pod{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), pod); err != nil {
				t.Fatal(err)
			}
			return pod
		}
		state := func() map[corev1.PodConditionType]corev1.ConditionStatus {
			out := map[corev1.PodConditionType]corev1.ConditionStatus{}
			for _, condition := range now().Status.Conditions {
				out[condition.Type] = condition.Status
			}
			return out
		}
		c.create(t, old, ended, gated("plain"), gated("theirs", "mine"))
		c.run(t)
		if got := c.written(); !slices.Equal(got, []string{"old"}) || len(c.all()) != 2 {
			t.Errorf("written %v, and known are %v", got, c.all())
		}
		if got := state(); len(got) != 3 || got[cloudMapGate] != "True" || got["mine"] != "False" ||
			got[corev1.ContainersReady] != "True" {
			t.Errorf("conditions: %v", got)
		}
		pass(resyncPeriod)
		if got := c.written(); len(got) != 0 {
			t.Error("an open gate is opened")
		}
		pod := now()
		for i := range pod.Status.Conditions {
			pod.Status.Conditions[i].Status = "False"
		}
		if err := c.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		c.flow.Set(pod)
		c.flow.Sync()
		if c.written(); state()[cloudMapGate] != "True" {
			t.Error("a gate that somebody closed stays closed")
		}
		c.flow.Set(gated("old")) // another pod of the name, without a gate
		c.flow.Sync()
		if got := c.all(); len(got) != 1 || got[0].Name != "ended" {
			t.Errorf("known are %v", got)
		}
	})
}
