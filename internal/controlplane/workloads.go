package controlplane

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/list"
	"anymesh.dev/anymesh/internal/pod/inject"
	"anymesh.dev/anymesh/model"
)

// workloadDialect is a dialect whose workloads get sidecars by injection.
type workloadDialect interface {
	dialect.Dialect
	inject.Dialect
	// WorkloadReads returns an empty object of each kind that SelectWorkload reads. Of namespaced kinds, it reads the
	// objects in the namespace of the pod; of Namespaces, only this one.
	WorkloadReads() []client.Object
	// SelectWorkload returns the workload of a new pod, selected from objects of those kinds. It reports false if
	// there is none. An error denies the pod.
	SelectWorkload(objects []client.Object, pod *corev1.Pod, namespace string) (model.Key, bool, error)
}

// workloads finds the workload of a new pod.
type workloads struct{ cp *controlPlane }

// SelectWorkload selects the workload of a new pod from the cached objects. If there is none, it reads from the API
// server: the object that selects the pod may have been created just before the pod.
func (w workloads) SelectWorkload(ctx context.Context, d inject.Dialect,
	pod *corev1.Pod) (model.Workload, bool, error) {
	selector := d.(workloadDialect)
	kinds := selector.WorkloadReads()
	key, found, err := selector.SelectWorkload(w.cp.engine.Objects(relevantTo(kinds, pod.Namespace)), pod,
		pod.Namespace)
	if known, ok := w.cp.engine.Workload(key); err == nil && found && ok &&
		known.Origin.Object.Namespace == pod.Namespace {
		return known, true, nil
	}
	objects, err := w.listFromAPIServer(ctx, kinds, pod.Namespace)
	if err != nil {
		return model.Workload{}, false, err
	}
	key, found, err = selector.SelectWorkload(objects, pod, pod.Namespace)
	if err != nil || !found {
		return model.Workload{}, false, err
	}
	workload, ok := engine.Compute([]dialect.Dialect{selector}, engine.Settings{}, objects).Index.Workload(key)
	if !ok {
		return model.Workload{}, false, fmt.Errorf("workload %s of the pod cannot be served; see the status of its object", key)
	}
	return workload, true, nil
}

// relevantTo returns a filter for objects of the given kinds that are relevant to a pod of a namespace.
func relevantTo(kinds []client.Object, namespace string) func(client.Object) bool {
	types := map[reflect.Type]bool{}
	for _, kind := range kinds {
		types[reflect.TypeOf(kind)] = true
	}
	return func(o client.Object) bool {
		if !types[reflect.TypeOf(o)] {
			return false
		}
		if _, is := o.(*corev1.Namespace); is {
			return o.GetName() == namespace
		}
		return o.GetNamespace() == "" || o.GetNamespace() == namespace
	}
}

// listFromAPIServer reads the objects that are relevant to a pod of a namespace from the API server.
func (w workloads) listFromAPIServer(ctx context.Context, kinds []client.Object,
	namespace string) ([]client.Object, error) {
	var out []client.Object
	for _, kind := range kinds {
		if _, is := kind.(*corev1.Namespace); is {
			ns := &corev1.Namespace{}
			if err := w.cp.client.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
				return nil, fmt.Errorf("finding the workload of a pod in namespace %s: %w", namespace, err)
			}
			out = append(out, ns)
			continue
		}
		gvk, err := apiutil.GVKForObject(kind, w.cp.client.Scheme())
		if err != nil {
			return nil, fmt.Errorf("kind of %T: %w", kind, err)
		}
		var options []client.ListOption
		if !dialect.ClusterScoped(gvk.GroupKind()) {
			options = append(options, client.InNamespace(namespace))
		}
		objects, err := list.Objects(ctx, w.cp.client, kind, options...)
		if err != nil {
			return nil, fmt.Errorf("finding the workload of a pod in namespace %s: %w", namespace, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

// namespaces reads the labels of namespaces from the API server.
type namespaces struct{ reader client.Reader }

// Labels returns the labels of a namespace.
func (n namespaces) Labels(ctx context.Context, name string) (map[string]string, error) {
	var ns corev1.Namespace
	if err := n.reader.Get(ctx, client.ObjectKey{Name: name}, &ns); err != nil {
		return nil, err
	}
	return ns.Labels, nil
}

// Annotations returns the annotations of a namespace.
func (n namespaces) Annotations(ctx context.Context, name string) (map[string]string, error) {
	var ns corev1.Namespace
	if err := n.reader.Get(ctx, client.ObjectKey{Name: name}, &ns); err != nil {
		return nil, err
	}
	return ns.Annotations, nil
}
