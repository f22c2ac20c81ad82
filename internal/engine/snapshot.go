package engine

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// State is the whole mesh at one time, for those who look at all of it. It does not change once made.
type State struct {
	// Objects are those that dialects read, ordered by kind, namespace and name.
	Objects []client.Object
	Index   *model.Index
	Views   map[model.Key]*View
	// Classes are the sidecarClasses that the pods of each workload name, each once and in order; the empty one is there if a pod names none.
	Classes map[model.Key][]string
	// Findings are those of the dialects and of the views, in canonical order.
	Findings []model.Finding

	pods map[string]store.Pod
}

// View is a workload's view.
type View struct {
	*model.View
}

// snapshot copies what there is.
func (w *meshState) snapshot() *State {
	s := &State{
		Objects: w.objects.All(), Index: model.NewIndex(w.mesh.Snapshot()), Findings: w.mesh.AllFindings(),
		Views: map[model.Key]*View{}, Classes: map[model.Key][]string{}, pods: map[string]store.Pod{},
	}
	w.mesh.Views.ForEach(func(key model.Key, all []*model.View) { s.Views[key] = &View{all[0]} })
	w.mesh.Pods.ForEach(func(uid string, all []store.Pod) { s.pods[uid] = all[0] })
	w.mesh.Classes.ForEach(func(key model.Key, _ []string) { s.Classes[key] = w.mesh.ClassesOf(key) })
	return s
}

// Drivers lists the sidecar drivers of a workload, each once and in order: those that its pods name, the usual one for pods that name none,
// and for a workload without pods.
func (s *State) Drivers(workload model.Key, usual string) []string {
	classes := s.Classes[workload]
	if len(classes) == 0 {
		return []string{usual}
	}
	out := make([]string, len(classes))
	for i, class := range classes {
		out[i] = cmp.Or(class, usual)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// WorkloadOf finds the workload of a pod, by the pod's unique id.
func (s *State) WorkloadOf(podUID string) (model.Workload, bool) {
	pod, ok := s.pods[podUID]
	if !ok {
		return model.Workload{}, false
	}
	return s.Index.Workload(pod.Workload)
}

// ClassOf gives the sidecarClass that an instance of a workload names, by the pod's unique id; empty if it names none.
func (s *State) ClassOf(podUID string) string { return s.pods[podUID].Class }
