package controlplane

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// designator finds the workload of a pod that is being created.
type designator struct{ cp *controlPlane }

// Designate looks at the objects that we watch, and, when those leave the pod without a workload, at the API server itself: the
// VirtualNode may have been applied an instant before the pod.
func (d designator) Designate(ctx context.Context, pod *corev1.Pod) (model.Workload, bool, error) {
	key, found, err := d.cp.dialect.Place(d.cp.flow.Objects(places(pod.Namespace)), pod, pod.Namespace)
	if w, known := d.cp.flow.Workload(key); err == nil && found && known && w.Origin.Object.Namespace == pod.Namespace {
		return w, true, nil
	}
	objects, err := d.fresh(ctx, pod.Namespace)
	if err != nil {
		return model.Workload{}, false, err
	}
	key, found, err = d.cp.dialect.Place(objects, pod, pod.Namespace)
	if err != nil || !found {
		return model.Workload{}, false, err
	}
	fragment, _ := d.cp.dialect.Translate(objects)
	w, known := model.NewIndex(&fragment).Workload(key)
	if !known {
		return model.Workload{}, false, fmt.Errorf("workload %s of the pod cannot be served; the status of its VirtualNode says why", key)
	}
	return w, true, nil
}

// places picks the objects that place a pod of a namespace.
func places(namespace string) func(client.Object) bool {
	return func(o client.Object) bool {
		switch o.(type) {
		case *api.Mesh:
			return true
		case *corev1.Namespace:
			return o.GetName() == namespace
		case *api.VirtualNode, *api.VirtualGateway:
			return o.GetNamespace() == namespace
		}
		return false
	}
}

// fresh reads what places a pod of a namespace.
func (d designator) fresh(ctx context.Context, namespace string) ([]client.Object, error) {
	var (
		ns       corev1.Namespace
		meshes   api.MeshList
		nodes    api.VirtualNodeList
		gateways api.VirtualGatewayList
	)
	err := errors.Join(
		d.cp.client.Get(ctx, client.ObjectKey{Name: namespace}, &ns),
		d.cp.client.List(ctx, &meshes),
		d.cp.client.List(ctx, &nodes, client.InNamespace(namespace)),
		d.cp.client.List(ctx, &gateways, client.InNamespace(namespace)))
	if err != nil {
		return nil, fmt.Errorf("finding the workload of a pod in namespace %s: %w", namespace, err)
	}
	objects := []client.Object{&ns}
	for i := range meshes.Items {
		objects = append(objects, &meshes.Items[i])
	}
	for i := range nodes.Items {
		objects = append(objects, &nodes.Items[i])
	}
	for i := range gateways.Items {
		objects = append(objects, &gateways.Items[i])
	}
	return objects, nil
}

// namespaces reads the labels of namespaces from the API server.
type namespaces struct{ reader client.Reader }

// Labels gives the labels of a namespace.
func (n namespaces) Labels(ctx context.Context, name string) (map[string]string, error) {
	var ns corev1.Namespace
	if err := n.reader.Get(ctx, client.ObjectKey{Name: name}, &ns); err != nil {
		return nil, err
	}
	return ns.Labels, nil
}
