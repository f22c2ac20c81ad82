package engine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// Ready tells whether the objects that were there at the start are in the mesh.
func (f *Flow) Ready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.started
}

// Await waits until the mesh is ready and the condition holds. The condition is asked again after each change. The error is that of
// the context.
func (f *Flow) Await(ctx context.Context, holds func() bool) error {
	for {
		f.mu.Lock()
		next, started := f.next, f.started
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
func (f *Flow) View(workload model.Key) (*model.View, bool) {
	f.lock.RLock()
	defer f.lock.RUnlock()
	return f.world.mesh.Views.GetFirst(workload)
}

// Reach gives what a destination leads to.
func (f *Flow) Reach(destination model.Key) (model.Reach, bool) {
	f.lock.RLock()
	defer f.lock.RUnlock()
	return f.world.mesh.Reaches.GetFirst(destination)
}

// Workload finds a workload.
func (f *Flow) Workload(key model.Key) (model.Workload, bool) {
	f.lock.RLock()
	defer f.lock.RUnlock()
	return f.world.mesh.Workloads.GetFirst(key)
}

// WorkloadOf finds the workload of a pod, by the pod's unique id.
func (f *Flow) WorkloadOf(podUID string) (model.Workload, bool) {
	f.lock.RLock()
	defer f.lock.RUnlock()
	pod, ok := f.world.mesh.Pods.GetFirst(podUID)
	if !ok {
		return model.Workload{}, false
	}
	return f.world.mesh.Workloads.GetFirst(pod.Workload)
}

// ClassOf gives the sidecarClass that an instance of a workload names, by the pod's unique id; empty if it names none.
func (f *Flow) ClassOf(podUID string) string {
	f.lock.RLock()
	defer f.lock.RUnlock()
	pod, _ := f.world.mesh.Pods.GetFirst(podUID)
	return pod.Class
}

// Classes lists the sidecarClasses that the pods of a workload name, each once and in order; the empty one is there if a pod names none.
func (f *Flow) Classes(workload model.Key) []string {
	f.lock.RLock()
	defer f.lock.RUnlock()
	return f.world.mesh.ClassesOf(workload)
}

// Findings gives what there is to say about an object, in canonical order.
func (f *Flow) Findings(about model.ObjectRef) []model.Finding {
	f.lock.RLock()
	defer f.lock.RUnlock()
	return f.world.mesh.FindingsOf(about)
}

// MeshOf names the mesh that an object belongs to, or gives "".
func (f *Flow) MeshOf(object model.ObjectRef) string {
	f.lock.RLock()
	defer f.lock.RUnlock()
	name, _ := f.world.mesh.Members.GetFirst(object)
	return name
}

// Objects lists the objects for which pick is true, ordered by kind, namespace and name.
func (f *Flow) Objects(pick func(client.Object) bool) []client.Object {
	f.lock.RLock()
	defer f.lock.RUnlock()
	var out []client.Object
	for _, o := range f.world.objects.All() {
		if pick(o) {
			out = append(out, o)
		}
	}
	return out
}

// State gives the whole mesh, nil before it is ready. It is a copy, which costs as much as the mesh is large, once for each change.
func (f *Flow) State() *State {
	f.lock.RLock()
	defer f.lock.RUnlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started {
		return nil
	}
	if f.state == nil {
		f.state = f.world.state()
	}
	return f.state
}
