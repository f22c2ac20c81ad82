package engine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// Ready tells whether the objects that were there at the start are in the mesh.
func (f *Engine) Ready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.started
}

// Await waits until the mesh is ready and the condition holds. The condition is asked again after each change. The error is that of
// the context.
func (f *Engine) Await(ctx context.Context, holds func() bool) error {
	for {
		f.mu.Lock()
		next, started := f.nextChange, f.started
		f.mu.Unlock()
		if started && holds() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		}
	}
}

// View gives the view of a workload.
func (f *Engine) View(workload model.Key) (*model.View, bool) {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	return f.state.mesh.Views.GetFirst(workload)
}

// ResolvedDestination gives what a destination leads to.
func (f *Engine) ResolvedDestination(destination model.Key) (model.ResolvedDestination, bool) {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	return f.state.mesh.ResolvedDestinations.GetFirst(destination)
}

// Workload finds a workload.
func (f *Engine) Workload(key model.Key) (model.Workload, bool) {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	return f.state.mesh.Workloads.GetFirst(key)
}

// WorkloadOf finds the workload of a pod, by the pod's unique id.
func (f *Engine) WorkloadOf(podUID string) (model.Workload, bool) {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	pod, ok := f.state.mesh.Pods.GetFirst(podUID)
	if !ok {
		return model.Workload{}, false
	}
	return f.state.mesh.Workloads.GetFirst(pod.Workload)
}

// ClassOf gives the sidecarClass that an instance of a workload names, by the pod's unique id; empty if it names none.
func (f *Engine) ClassOf(podUID string) string {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	pod, _ := f.state.mesh.Pods.GetFirst(podUID)
	return pod.Class
}

// Classes lists the sidecarClasses that the pods of a workload name, each once and in order; the empty one is there if a pod names none.
func (f *Engine) Classes(workload model.Key) []string {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	return f.state.mesh.ClassesOf(workload)
}

// Findings gives what there is to say about an object, in canonical order.
func (f *Engine) Findings(about model.ObjectRef) []model.Finding {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	return f.state.mesh.FindingsOf(about)
}

// MeshOf names the mesh that an object belongs to, or gives "".
func (f *Engine) MeshOf(object model.ObjectRef) string {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	name, _ := f.state.mesh.Members.GetFirst(object)
	return name
}

// Objects lists the objects for which pick is true, ordered by kind, namespace and name.
func (f *Engine) Objects(pick func(client.Object) bool) []client.Object {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	var out []client.Object
	for _, o := range f.state.objects.All() {
		if pick(o) {
			out = append(out, o)
		}
	}
	return out
}

// State gives the whole mesh, nil before it is ready. It is a copy, which costs as much as the mesh is large, once for each change.
func (f *Engine) State() *State {
	f.stateMu.RLock()
	defer f.stateMu.RUnlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started {
		return nil
	}
	if f.snapshot == nil {
		f.snapshot = f.state.snapshot()
	}
	return f.snapshot
}
