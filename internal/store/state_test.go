package store

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

type portState struct{ ports []int32 }

// TestStatesOfDialects checks that two dialects have states of different types, and that a change of a state or of a
// mesh is one of the object.
func TestStatesOfDialects(t *testing.T) {
	g := incremental.New()
	objects, m := NewObjects(g), NewModel(g)
	m.Members.TrackChanges()
	refOf := func(o client.Object) model.ObjectRef { return model.ObjectRef{Kind: "Service", Name: o.GetName()} }

	g.SetOwner("ports")
	rule := incremental.NewRule(g, "Service")
	incremental.Each(rule, Of[*corev1.Service](objects), incremental.Emits(rule, NewStates[portState](g, m)),
		func(states *incremental.Emitter[model.ObjectRef, portState], _ types.NamespacedName, all []*corev1.Service) {
			var state portState
			for _, p := range all[0].Spec.Ports {
				state.ports = append(state.ports, p.Port)
			}
			states.Emit(refOf(all[0]), state)
		})
	g.SetOwner("names")
	rule = incremental.NewRule(g, "Service")
	incremental.Each(rule, Of[*corev1.Service](objects), incremental.Emits(rule, NewStates[string](g, m)),
		func(states *incremental.Emitter[model.ObjectRef, string], id types.NamespacedName, all []*corev1.Service) {
			states.Emit(refOf(all[0]), id.Name)
		})
	g.SetOwner("meshes")
	rule = incremental.NewRule(g, "Service")
	incremental.Each(rule, Of[*corev1.Service](objects), incremental.Emits(rule, m.Members),
		func(members *incremental.Emitter[model.ObjectRef, string], _ types.NamespacedName, all []*corev1.Service) {
			members.Emit(refOf(all[0]), all[0].Labels["mesh"])
		})

	service := func(mesh string, ports ...int32) *corev1.Service {
		out := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"mesh": mesh}}}
		for _, p := range ports {
			out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{Port: p})
		}
		return out
	}
	ref := refOf(service(""))
	for _, step := range []struct {
		to      *corev1.Service
		changed bool
	}{{service("m", 80), true}, {service("m", 80), false}, {service("m", 80, 81), true}, {service("n", 80, 81), true}} {
		objects.Set(step.to)
		g.Run()
		if got := slices.Contains(m.TakeChangedStates(), ref); got != step.changed {
			t.Errorf("%v: changed %v, want %v", step.to, got, step.changed)
		}
		ports, is := m.StateOf("ports", ref).(portState)
		if !is || len(ports.ports) != len(step.to.Spec.Ports) || m.StateOf("names", ref) != "a" {
			t.Errorf("%v: states %v, %v", step.to, m.StateOf("ports", ref), m.StateOf("names", ref))
		}
	}
	objects.Delete(service(""))
	g.Run()
	if !slices.Contains(m.TakeChangedStates(), ref) || m.StateOf("ports", ref) != nil || m.StateOf("meshes", ref) != nil {
		t.Errorf("a deleted object has state %v", m.StateOf("ports", ref))
	}
}

func TestNewStatesPanicsOnSecondRelation(t *testing.T) {
	g := incremental.New()
	m := NewModel(g)
	g.SetOwner("a")
	NewStates[int](g, m)
	defer func() {
		if got, want := recover(), `store: NewStates called twice for dialect "a"`; got != want {
			t.Errorf("got panic %v, want %s", got, want)
		}
	}()
	NewStates[string](g, m)
}
