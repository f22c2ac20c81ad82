package engine

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Ready reports whether the mesh contains the objects that existed at the start.
func (e *Engine) Ready() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.started
}

// Await waits until the mesh is ready and the condition is true. It evaluates the condition after each change. It
// returns the error of the context.
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

// View returns the view of a workload. It composes the view for each call.
func (e *Engine) View(workload model.Key) (*model.View, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.View(workload)
}

// OutboundKeyOf returns the key of a workload's outbound view.
func (e *Engine) OutboundKeyOf(workload model.Key) (model.OutboundKey, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	view, ok := e.state.mesh.Views.GetFirst(workload)
	if !ok {
		return model.OutboundKey{}, false
	}
	return view.OutboundKey, true
}

// OutboundView returns an outbound view and its mesh. It reports false if no workload has the outbound view.
func (e *Engine) OutboundView(key model.OutboundKey) (model.Mesh, *model.OutboundView, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	r, ok := e.state.mesh.OutboundViews.GetFirst(key)
	if !ok {
		return model.Mesh{}, nil, false
	}
	return r.Mesh, &r.OutboundView, true
}

// ResolvedDestination returns a destination with its ready endpoints.
func (e *Engine) ResolvedDestination(destination model.Key) (model.ResolvedDestination, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.ResolvedDestination(destination)
}

// Workload returns a workload.
func (e *Engine) Workload(key model.Key) (model.Workload, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.Workloads.GetFirst(key)
}

// Workloads lists the workloads in order, none before the first sync.
func (e *Engine) Workloads() []model.Key {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	var out []model.Key
	e.state.mesh.Views.ForEach(func(key model.Key, _ []*store.WorkloadView) { out = append(out, key) })
	slices.SortFunc(out, model.Key.Compare)
	return out
}

// WorkloadOf returns the workload of a pod, by pod UID.
func (e *Engine) WorkloadOf(podUID string) (model.Workload, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	pod, ok := e.state.mesh.Pods.GetFirst(podUID)
	if !ok {
		return model.Workload{}, false
	}
	return e.state.mesh.Workloads.GetFirst(pod.Workload)
}

// ClassOf returns the sidecarClass of a pod, by pod UID. It is empty if the pod has no sidecarClass annotation.
func (e *Engine) ClassOf(podUID string) string {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	pod, _ := e.state.mesh.Pods.GetFirst(podUID)
	return pod.Class
}

// Classes lists the distinct sidecarClasses of a workload's pods, sorted. A pod without the annotation has the empty
// class.
func (e *Engine) Classes(workload model.Key) []string {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.ClassesOf(workload)
}

// WithoutAgent lists the instances of a workload whose proxy has no agent, in order.
func (e *Engine) WithoutAgent(workload model.Key) []model.Endpoint {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.WithoutAgent(workload)
}

// Findings returns the findings about an object, in canonical order.
func (e *Engine) Findings(about model.ObjectRef) []model.Finding {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.FindingsOf(about)
}

// MeshOf returns the name of the mesh of an object, or "".
func (e *Engine) MeshOf(object model.ObjectRef) string {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	name, _ := e.state.mesh.Members.GetFirst(object)
	return name
}

// StateOf returns the state of an object that the rules of a dialect emitted, see store.NewStates; nil if there is
// none.
func (e *Engine) StateOf(dialect string, object model.ObjectRef) any {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.mesh.StateOf(dialect, object)
}

// Objects lists the objects for which pick returns true, ordered by kind, namespace and name. Pods are *Pod.
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

// ObjectsOf lists the objects of a kind, ordered by namespace and name.
func (e *Engine) ObjectsOf(kind client.Object) []client.Object {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.objects.List(kind, func(types.NamespacedName) bool { return true })
}

// ObjectsFor lists the objects of a kind that are relevant to a namespace, ordered by name: those in the namespace and
// those without one. Of Namespaces, it is this one.
func (e *Engine) ObjectsFor(namespace string, kind client.Object) []client.Object {
	if _, is := kind.(*corev1.Namespace); is {
		if found, ok := e.Namespace(namespace); ok {
			return []client.Object{found}
		}
		return nil
	}
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.objects.List(kind, func(name types.NamespacedName) bool {
		return name.Namespace == "" || name.Namespace == namespace
	})
}

// Namespace returns a Namespace, if a dialect reads Namespaces.
func (e *Engine) Namespace(name string) (*corev1.Namespace, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	found, ok := e.state.objects.Get(&corev1.Namespace{}, types.NamespacedName{Name: name})
	if !ok {
		return nil, false
	}
	return found.(*corev1.Namespace), true
}

// Object returns the object of a kind with a name.
func (e *Engine) Object(kind client.Object, name types.NamespacedName) (client.Object, bool) {
	e.stateMu.RLock()
	defer e.stateMu.RUnlock()
	return e.state.objects.Get(kind, name)
}

// Pod returns the part of a pod that the engine holds.
func (e *Engine) Pod(name types.NamespacedName) (*store.Pod, bool) {
	found, ok := e.Object(&store.Pod{}, name)
	if !ok {
		return nil, false
	}
	return found.(*store.Pod), true
}

// State returns a copy of the whole mesh, or nil before the first sync. The cost of the copy grows with the mesh; the
// engine makes it at most once per change.
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
