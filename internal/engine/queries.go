package engine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// Ready tells whether the objects that were there at the start are in the mesh.
func (e *Engine) Ready() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.started
}

// Await waits until the mesh is ready and the condition holds. The condition is asked again after each change. The error is that of
// the context.
func (e *Engine) Await(ctx context.Context, holds func() bool) error {
	for {
		e.mu.Lock()
		next, started := e.nextChange, e.started
		e.mu.Unlock()
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
func (e *Engine) View(workload model.Key) (*model.View, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.Views.GetFirst(workload)
}

// ResolvedDestination gives what a destination leads to.
func (e *Engine) ResolvedDestination(destination model.Key) (model.ResolvedDestination, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.ResolvedDestinations.GetFirst(destination)
}

// Workload finds a workload.
func (e *Engine) Workload(key model.Key) (model.Workload, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.Workloads.GetFirst(key)
}

// WorkloadOf finds the workload of a pod, by the pod's unique id.
func (e *Engine) WorkloadOf(podUID string) (model.Workload, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	pod, ok := e.state.mesh.Pods.GetFirst(podUID)
	if !ok {
		return model.Workload{}, false
	}
	return e.state.mesh.Workloads.GetFirst(pod.Workload)
}

// ClassOf gives the sidecarClass that an instance of a workload names, by the pod's unique id; empty if it names none.
func (e *Engine) ClassOf(podUID string) string {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	pod, _ := e.state.mesh.Pods.GetFirst(podUID)
	return pod.Class
}

// Classes lists the sidecarClasses that the pods of a workload name, each once and in order; the empty one is there if a pod names none.
func (e *Engine) Classes(workload model.Key) []string {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.ClassesOf(workload)
}

// Findings gives what there is to say about an object, in canonical order.
func (e *Engine) Findings(about model.ObjectRef) []model.Finding {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.FindingsOf(about)
}

// MeshOf names the mesh that an object belongs to, or gives "".
func (e *Engine) MeshOf(object model.ObjectRef) string {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	name, _ := e.state.mesh.Members.GetFirst(object)
	return name
}

// Objects lists the objects for which pick is true, ordered by kind, namespace and name.
func (e *Engine) Objects(pick func(client.Object) bool) []client.Object {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	var out []client.Object
	for _, o := range e.state.objects.All() {
		if pick(o) {
			out = append(out, o)
		}
	}
	return out
}

// State gives the whole mesh, nil before it is ready. It is a copy, which costs as much as the mesh is large, once for each change.
func (e *Engine) State() *State {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.started {
		return nil
	}
	if e.snapshot == nil {
		e.snapshot = e.state.snapshot()
	}
	return e.snapshot
}
