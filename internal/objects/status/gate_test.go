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

// cloudMapGate is the readiness gate that the App Mesh injector adds.
const cloudMapGate corev1.PodConditionType = "conditions.appmesh.k8s.aws/aws-cloudmap-healthy"

func podWithGates(name string, gates ...corev1.PodConditionType) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "u"}}
	for _, g := range gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: g})
	}
	return pod
}

// The condition of a managed readiness gate is set to True once, and again after another client sets it to False.
// Other gates are not changed.
func TestManagedReadinessGatesAreTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := podWithGates("old", cloudMapGate, "mine")
		old.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.ContainersReady, Status: "True"}, {Type: "mine", Status: "False"},
		}
		ended := podWithGates("ended", cloudMapGate)
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
		c.create(t, old, ended, podWithGates("plain"), podWithGates("theirs", "mine"))
		c.run(t)
		if got := c.takeWrites(); !slices.Equal(got, []string{"old"}) || len(c.all()) != 2 {
			t.Errorf("got writes %v, tracked pods %v", got, c.all())
		}
		if got := state(); len(got) != 3 || got[cloudMapGate] != "True" || got["mine"] != "False" ||
			got[corev1.ContainersReady] != "True" {
			t.Errorf("got conditions %v", got)
		}
		advance(resyncPeriod)
		if got := c.takeWrites(); len(got) != 0 {
			t.Error("a condition that is True was written")
		}
		pod := now()
		for i := range pod.Status.Conditions {
			pod.Status.Conditions[i].Status = "False"
		}
		if err := c.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		c.engine.Set(pod)
		c.engine.Sync()
		if c.takeWrites(); state()[cloudMapGate] != "True" {
			t.Error("the condition is not restored")
		}
		c.engine.Set(podWithGates("old")) // another pod with the same name, without a gate
		c.engine.Sync()
		if got := c.all(); len(got) != 1 || got[0].Name != "ended" {
			t.Errorf("got tracked pods %v", got)
		}
	})
}
