package appmesh

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// isDeleting reports whether an object is removed from the model because it is being deleted, even if a finalizer
// still keeps it. Pods and Namespaces count until they are deleted, and so do Meshes and VirtualGateways, which wait
// for their members.
func isDeleting(o client.Object) bool {
	switch o.(type) {
	case *api.Mesh, *api.VirtualGateway, *corev1.Pod, *corev1.Namespace:
		return false
	}
	return o.GetDeletionTimestamp() != nil
}

// originOf returns the origin of an object. Of objects with a conflict, the older one by model.Origin.CompareAge takes
// precedence.
func originOf(kind string, o metav1.Object) model.Origin {
	return model.NewOrigin(model.ObjectRef{
		Group: api.GroupVersion.Group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(),
	}).CreatedAt(store.CreatedAt(o))
}
