package flow

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// sameAddress compares addresses, whose fields nobody can see.
var sameAddress = cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{})

// TestIncrementalEqualsFull lets random objects come, change and go, in any order, and compares after each few events what the flow
// made of it with what comes out when one starts afresh with the objects that there are. Origins count: findings name them.
func TestIncrementalEqualsFull(t *testing.T) {
	for seed := range uint64(30) {
		f := New(quiet, dialects)
		w := newWorld(seed, f)
		for step := range 60 {
			for range 1 + w.random.IntN(4) {
				w.event()
			}
			f.step()
			got, want := f.State(), Compute(dialects, w.list(), nil)
			for what, pair := range map[string][2]any{
				"models": {want.Index.Model, got.Index.Model}, "views": {want.Views, got.Views},
				"findings": {want.Findings, got.Findings}, "workloads of pods": {want.pods, got.pods},
			} {
				if !reflect.DeepEqual(pair[0], pair[1]) {
					t.Fatalf("seed %d, step %d: %s differ (-afresh +incremental):\n%s", seed, step, what, cmp.Diff(pair[0], pair[1], sameAddress))
				}
			}
		}
	}
}

// Sinks compare pointers: what has not changed is the same view.
func TestUnchangedViewsAreTakenOver(t *testing.T) {
	f := New(quiet, dialects)
	w := newWorld(7, f)
	same, other := 0, 0
	for range 300 {
		before := f.State()
		w.event()
		f.step()
		for key, view := range f.State().Views {
			if before == nil || before.Views[key] == nil {
				continue
			}
			equal := reflect.DeepEqual(before.Views[key], view)
			if equal != (before.Views[key] == view) {
				t.Fatalf("%s: equal %v, the same %v", key, equal, !equal)
			}
			if equal {
				same++
			} else {
				other++
			}
		}
	}
	if same < 100 || other < 20 {
		t.Errorf("%d views stayed and %d changed: too few for a test", same, other)
	}
}

func TestWorkloadOfAPod(t *testing.T) {
	f := New(quiet, dialects)
	f.Set(ID{Name: "m"}, mesh())
	f.Set(ID{Name: "front"}, node("front"))
	f.Set(ID{Name: "pod"}, pod("front", "uid-1"))
	f.step()
	if w, ok := f.State().WorkloadOf("uid-1"); !ok || w.Key != (model.Key{Mesh: "m", Name: "front_a"}) {
		t.Errorf("pod uid-1 is an instance of %v (%v)", w.Key, ok)
	}
	for _, uid := range []string{"", "uid-2"} {
		if w, ok := f.State().WorkloadOf(uid); ok {
			t.Errorf("pod %q is an instance of %v", uid, w.Key)
		}
	}
}

// SlimPod keeps all that the dialect reads: what slim pods mean is what whole pods mean.
func TestSlimPodsMeanTheSame(t *testing.T) {
	w := newWorld(3, New(quiet, dialects))
	for range 200 {
		w.event()
	}
	slimmed := 0
	var whole, slim = w.list(), w.list()[:0:0]
	for _, o := range whole {
		if p, ok := o.(*corev1.Pod); ok {
			slimmed++
			p.Spec = corev1.PodSpec{
				ServiceAccountName: "robot", NodeName: "n1", Containers: []corev1.Container{{Name: "app", Image: "x", Env: []corev1.EnvVar{{Name: "A", Value: "B"}}}},
			}
			p.Annotations = map[string]string{"large": "text"}
			p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app"}}
			p.Status.Conditions = slices.Insert(p.Status.Conditions, 0, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
		}
		s, err := SlimPod(o.DeepCopyObject())
		if err != nil {
			t.Fatal(err)
		}
		slim = append(slim, s.(client.Object))
		if p, ok := s.(*corev1.Pod); ok && (len(p.Spec.Containers) > 0 || p.Annotations != nil || p.ManagedFields != nil || len(p.Status.Conditions) > 1) {
			t.Errorf("a slim pod still has %+v", p)
		}
	}
	if slimmed == 0 {
		t.Fatal("no pods")
	}
	a, b := Compute(dialects, whole, nil), Compute(dialects, slim, nil)
	if diff := cmp.Diff(a.Index.Model, b.Index.Model, sameAddress); diff != "" {
		t.Errorf("models differ (-whole +slim):\n%s", diff)
	}
	if diff := cmp.Diff(a.Findings, b.Findings); diff != "" {
		t.Errorf("findings differ (-whole +slim):\n%s", diff)
	}
	if s, err := SlimPod("something else"); err != nil || s != "something else" {
		t.Errorf("what is no pod becomes %v (%v)", s, err)
	}
}
