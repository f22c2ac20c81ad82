package flow

import (
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// State is the mesh at one time. It does not change once made.
type State struct {
	Objects []client.Object
	Index   *model.Index
	Views   map[model.Key]*View
	// Findings are those of the dialects and of the views, in canonical order.
	Findings []model.Finding
	// Changed is when the first change that made this state came in; zero for the first state.
	Changed time.Time

	pods map[string]model.Key
}

// View is a workload's view with its content hash: equal hash, equal view, but for the fields that it comes from.
type View struct {
	*model.View
	Hash string
}

// Compute makes the state that objects mean. Views that are equal to those of the old state are taken over from it, so that
// sinks find by a glance what has changed.
func Compute(dialects []dialect.Dialect, objects []client.Object, old *State) *State {
	var fragments []model.Model
	state := &State{Objects: objects, Views: map[model.Key]*View{}, pods: map[string]model.Key{}}
	for _, d := range dialects {
		fragment, findings := d.Translate(objects)
		fragments = append(fragments, fragment)
		state.Findings = append(state.Findings, findings...)
	}
	state.Index = model.NewIndex(model.Merge(fragments...))
	for _, w := range state.Index.Model.Workloads {
		view, findings, ok := model.NewView(state.Index, w.Key)
		if !ok {
			continue // its mesh is gone; the dialect has said so
		}
		state.Findings = append(state.Findings, findings...)
		state.Views[w.Key] = old.reuse(w.Key, &View{View: &view, Hash: model.Hash(view)})
	}
	for _, e := range state.Index.Model.Endpoints {
		state.pods[e.Instance.UID] = e.Workload
	}
	state.Findings = model.SortFindings(state.Findings)
	return state
}

// reuse gives the old view if the fresh one says the same and comes from the same fields: findings name those, and the hash leaves
// them out.
func (s *State) reuse(key model.Key, fresh *View) *View {
	if s != nil {
		if known := s.Views[key]; known != nil && known.Hash == fresh.Hash && reflect.DeepEqual(known.View, fresh.View) {
			return known
		}
	}
	return fresh
}

// WorkloadOf finds the workload of a pod, by the pod's unique id.
func (s *State) WorkloadOf(podUID string) (model.Workload, bool) {
	key, ok := s.pods[podUID]
	if !ok {
		return model.Workload{}, false
	}
	return s.Index.Workload(key)
}
