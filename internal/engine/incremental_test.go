package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
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
	"anymesh.dev/anymesh/sidecar"
)

// sameAddress makes cmp compare addresses with ==, because their fields are unexported.
var sameAddress = cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{})

// After any sequence of random events, the state equals that of a full evaluation of the current objects, including
// origins. Both evaluate the rules in random orders that the declarations allow.
func TestIncrementalEqualsFull(t *testing.T) {
	const seeds, groups = 100, 4
	for group := range uint64(groups) {
		t.Run(fmt.Sprintf("group %d", group), func(t *testing.T) {
			t.Parallel()
			for seed := group; seed < seeds; seed += groups {
				incrementalEqualsFull(t, seed, 100)
			}
		})
	}
}

func incrementalEqualsFull(t *testing.T, seed uint64, steps int) {
	t.Helper()
	f := New(discardLog, dialects, Settings{})
	w := newCluster(seed, f)
	f.state = shuffled(w.random)
	for step := range steps {
		for range 1 + w.random.IntN(4) {
			w.randomEvent()
		}
		f.Sync()
		got, want := f.State(), shuffled(w.random).compute(w.list())
		for what, pair := range map[string][2]any{
			"models": {want.Index.Model, got.Index.Model}, "views": {want.Views, got.Views},
			"findings": {want.Findings, got.Findings}, "pods": {want.pods, got.pods},
			"classes": {want.Classes, got.Classes},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Fatalf("seed %d, step %d: %s differ (-full +incremental):\n%s", seed, step, what,
					cmp.Diff(pair[0], pair[1], sameAddress))
			}
		}
		for key, view := range got.Views {
			whole, _, ok := model.NewView(got.Index, key)
			if live, known := f.View(key); !ok || !known || !reflect.DeepEqual(*live, whole) ||
				!reflect.DeepEqual(*view.View, whole) {
				t.Fatalf("seed %d, step %d: view %s (-NewView +incremental):\n%s", seed, step, key,
					cmp.Diff(whole, *view.View, sameAddress))
			}
		}
		for _, d := range got.Index.Model.Destinations {
			live, _ := f.ResolvedDestination(d.Key)
			if whole, _ := want.Index.ResolvedDestination(d.Key); !reflect.DeepEqual(live, whole) {
				t.Fatalf("seed %d, step %d: %s: incremental %+v, full %+v", seed, step, d.Key, live, whole)
			}
		}
	}
	if ambiguous := f.state.graph.Ambiguities(); len(ambiguous) > 0 {
		t.Fatalf("seed %d: the order of entries depends on their arrival in relations %q", seed, ambiguous)
	}
}

// shuffled returns a state whose rules are added in random order.
func shuffled(random *rand.Rand) *meshState {
	s := assemble(dialects, Settings{})
	s.graph.Shuffle(random.Shuffle)
	return s
}

// A change lists all views that changed and no others, and all changed pods, classes and findings.
func TestChangesAreComplete(t *testing.T) {
	var change Change
	f := New(discardLog, dialects, Settings{}, func(c Change) { change = c })
	w := newCluster(7, f)
	f.Sync()
	same, other := 0, 0
	for range 400 {
		before := f.State()
		w.randomEvent()
		f.Sync()
		now := f.State()
		for key := range union(before.Views, now.Views) {
			changed := !reflect.DeepEqual(before.Views[key], now.Views[key])
			outbound, _ := f.OutboundKeyOf(key)
			listed := slices.Contains(change.Views, key) || slices.Contains(change.OutboundViews, outbound)
			if changed != listed {
				t.Fatalf("view %s: changed %v, in the change %v", key, changed, listed)
			}
			if changed {
				other++
			} else {
				same++
			}
		}
		for uid := range union(before.pods, now.pods) {
			if before.pods[uid] != now.pods[uid] && !slices.Contains(change.Pods, uid) {
				t.Fatalf("pod %s has another workload, but is not in the change", uid)
			}
		}
		for key := range union(before.Classes, now.Classes) {
			if !slices.Equal(before.Classes[key], now.Classes[key]) && !slices.Contains(change.Classes, key) {
				t.Fatalf("workload %s has other classes, but is not in the change", key)
			}
		}
		for _, finding := range slices.Concat(before.Findings, now.Findings) {
			if slices.Contains(before.Findings, finding) != slices.Contains(now.Findings, finding) &&
				!slices.Contains(change.FindingsChanged, finding.Object) {
				t.Fatalf("finding %s was added or removed, but its object is not in the change", finding)
			}
		}
	}
	if same < 100 || other < 20 {
		t.Errorf("got %d unchanged and %d changed views, want more", same, other)
	}
}

func union[K comparable, V any](a, b map[K]V) map[K]V {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// The cost of a pod event does not depend on the size of the mesh.
func TestEvaluationsDoNotGrowWithMesh(t *testing.T) {
	evaluations := func(services int) uint64 {
		f := New(discardLog, dialects, Settings{})
		for _, o := range largeMesh(services, 10) {
			f.Set(o)
		}
		f.Sync()
		start := f.state.graph.Evaluations()
		for i := range 3 {
			p := instance("s0001", 0)
			p.Status.PodIP = fmt.Sprintf("10.1.1.%d", i)
			f.Set(p)
			f.Sync()
		}
		return f.state.graph.Evaluations() - start
	}
	small, large := evaluations(20), evaluations(2000)
	if small != large || small == 0 {
		t.Errorf("three pod events: got %d evaluations with 20 services, %d with 2000", small, large)
	}
}

// The pods of one workload may have several drivers.
func TestClassesOfWorkload(t *testing.T) {
	f := New(discardLog, dialects, Settings{})
	f.Set(mesh())
	f.Set(node("front"))
	front := model.Key{Mesh: "m", Name: "front_a"}
	for i, c := range []struct {
		class string
		want  []string
	}{
		{"", []string{""}},
		{"two", []string{"", "two"}},
		{"one", []string{"", "one", "two"}},
		{"two", []string{"", "one", "two"}},
	} {
		p := pod("front", fmt.Sprintf("uid-%d", i))
		p.Name = string(p.UID)
		if c.class != "" {
			p.Annotations = map[string]string{sidecar.ClassAnnotation: c.class}
		}
		f.Set(p)
		f.Sync()
		if got := f.Classes(front); !slices.Equal(got, c.want) {
			t.Errorf("pod %d of class %q added: got classes %q, want %q", i, c.class, got, c.want)
		}
		if got := f.ClassOf(string(p.UID)); got != c.class {
			t.Errorf("pod %d: got class %q, want %q", i, got, c.class)
		}
		if diff := cmp.Diff(f.State().Classes[front], c.want); diff != "" {
			t.Errorf("classes of the state differ:\n%s", diff)
		}
	}
	if got := f.Classes(model.Key{Mesh: "m", Name: "missing"}); len(got) != 0 {
		t.Errorf("workload without pods: got classes %q", got)
	}
}

func TestWorkloadOfPod(t *testing.T) {
	f := New(discardLog, dialects, Settings{})
	f.Set(mesh())
	f.Set(node("front"))
	f.Set(pod("front", "uid-1"))
	f.Sync()
	if w, ok := f.State().WorkloadOf("uid-1"); !ok || w.Key != (model.Key{Mesh: "m", Name: "front_a"}) {
		t.Errorf("pod uid-1: got workload %v (%v)", w.Key, ok)
	}
	for _, uid := range []string{"", "uid-2"} {
		if w, ok := f.State().WorkloadOf(uid); ok {
			t.Errorf("pod %q: got workload %v, want none", uid, w.Key)
		}
	}
}

// Trimmed pods give the same mesh as whole pods.
func TestTrimPodKeepsRelevantFields(t *testing.T) {
	w := newCluster(3, New(discardLog, dialects, Settings{}))
	for range 200 {
		w.randomEvent()
	}
	trimmedPods := 0
	var whole, trimmed = w.list(), w.list()[:0:0]
	for _, o := range whole {
		if p, ok := o.(*corev1.Pod); ok {
			trimmedPods++
			p.Spec = corev1.PodSpec{
				ServiceAccountName: "robot", NodeName: "n1",
				Containers: []corev1.Container{
					{Name: "app", Image: "x", Env: []corev1.EnvVar{{Name: "A", Value: "B"}}},
				},
			}
			p.Annotations = map[string]string{"large": "text", sidecar.ClassAnnotation: "one"}
			p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app"}}
			p.Status.Conditions = slices.Insert(p.Status.Conditions, 0,
				corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
		}
		s, err := TrimPod(o.DeepCopyObject())
		if err != nil {
			t.Fatal(err)
		}
		trimmed = append(trimmed, s.(client.Object))
		if p, ok := s.(*corev1.Pod); ok {
			t.Errorf("the pod is not trimmed: %+v", p)
		}
	}
	if trimmedPods == 0 {
		t.Fatal("no pods")
	}
	a, b := Compute(dialects, Settings{}, whole), Compute(dialects, Settings{}, trimmed)
	if diff := cmp.Diff(a.Index.Model, b.Index.Model, sameAddress); diff != "" {
		t.Errorf("models differ (-full +trimmed):\n%s", diff)
	}
	if diff := cmp.Diff(a.Findings, b.Findings); diff != "" {
		t.Errorf("findings differ (-full +trimmed):\n%s", diff)
	}
	if diff := cmp.Diff(a.Classes, b.Classes); diff != "" {
		t.Errorf("classes differ (-full +trimmed):\n%s", diff)
	}
	if s, err := TrimPod("something else"); err != nil || s != "something else" {
		t.Errorf("not a pod: got %v, error %v", s, err)
	}
}
