package engine

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// State is the whole mesh at one time, for those who look at all of it. It does not change once made.
type State struct {
	// Objects are those that dialects read, ordered by kind, namespace and name.
	Objects []client.Object
	Index   *model.Index
	Views   map[model.Key]*View
	// Findings are those of the dialects and of the views, in canonical order.
	Findings []model.Finding

	pods map[string]model.Key
}

// View is a workload's view.
type View struct {
	*model.View
}

// state copies what there is.
func (w *world) state() *State {
	s := &State{
		Objects: w.objects.All(), Index: model.NewIndex(w.mesh.Snapshot()), Findings: w.mesh.AllFindings(),
		Views: map[model.Key]*View{}, pods: map[string]model.Key{},
	}
	w.mesh.Views.ForEach(func(key model.Key, all []*model.View) { s.Views[key] = &View{all[0]} })
	w.mesh.Pods.ForEach(func(uid string, all []model.Key) { s.pods[uid] = all[0] })
	return s
}

// WorkloadOf finds the workload of a pod, by the pod's unique id.
func (s *State) WorkloadOf(podUID string) (model.Workload, bool) {
	key, ok := s.pods[podUID]
	if !ok {
		return model.Workload{}, false
	}
	return s.Index.Workload(key)
}
