package status

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
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

// Managed gates are closed until their condition is True, unless the pod ends.
func TestClosedGates(t *testing.T) {
	ours := []dialect.ReadinessGate{{Type: "ours"}, {Type: "second"}}
	for _, c := range []struct {
		name       string
		conditions []corev1.PodCondition
		change     func(*corev1.Pod)
		want       []corev1.PodConditionType
	}{
		{"no condition", nil, nil, []corev1.PodConditionType{"ours", "second"}},
		{"False", []corev1.PodCondition{{Type: "ours", Status: "False"}, {Type: "second", Status: "True"}}, nil,
			[]corev1.PodConditionType{"ours"}},
		{"Unknown", []corev1.PodCondition{{Type: "ours", Status: "True"}, {Type: "second", Status: "Unknown"}}, nil,
			[]corev1.PodConditionType{"second"}},
		{"True", []corev1.PodCondition{{Type: "second", Status: "True"}, {Type: "ours", Status: "True"}}, nil, nil},
		{"being deleted", nil, func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Unix(1, 0)) }, nil},
		{"failed", nil, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, nil},
		{"another gate", nil, func(p *corev1.Pod) { p.Spec.ReadinessGates = p.Spec.ReadinessGates[:1] }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podWithGates("p", "mine", "second", "ours")
			pod.Status.Conditions = c.conditions
			if c.change != nil {
				c.change(pod)
			}
			var got []corev1.PodConditionType
			for _, gate := range closedGates(store.NewPod(pod), ours) {
				got = append(got, gate.Type)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A patch is for the pod that was seen, not for another one with its name.
func TestGatesOfReplacedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, func(o *Options) { o.Gates = appmesh.Dialect{}.ReadinessGates() })
		pod := podWithGates("p", cloudMapGate)
		c.create(t, pod)
		patch, err := gatePatch(pod.UID, c.Gates)
		if want := `{"metadata":{"uid":"u"}`; err != nil || !strings.HasPrefix(string(patch), want) {
			t.Errorf("got patch %s, error %v, want %s", patch, err, want)
		}
		ref := model.ObjectRef{Kind: kindPod, Namespace: "a", Name: "p"}
		if _, err := c.reconcile(t.Context(), ref); err != nil || len(c.takeWrites()) != 1 {
			t.Errorf("the pod was not written, error %v", err)
		}
		c.engine.Delete(pod)
		c.engine.Sync()
		advance(minWriteInterval)
		if _, err := c.reconcile(t.Context(), ref); err != nil || len(c.takeWrites()) != 0 {
			t.Errorf("a deleted pod was written, error %v", err)
		}
	})
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
