package appmesh

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// precedence orders objects with a conflict, from old to young: the older one takes precedence. Objects of the same
// age are ordered by name.
type precedence struct {
	created         int64 // in seconds, the resolution of the API server
	namespace, name string
}

func precedenceOf(o metav1.Object) precedence {
	return precedence{o.GetCreationTimestamp().Truncate(time.Second).Unix(), o.GetNamespace(), o.GetName()}
}

func (a precedence) compare(b precedence) int {
	return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.namespace, b.namespace),
		strings.Compare(a.name, b.name))
}

// isDeleting reports whether an object is removed from the model because it is being deleted, even if a finalizer
// still keeps it. Meshes, Pods and Namespaces count until they are deleted.
func isDeleting(o client.Object) bool {
	switch o.(type) {
	case *api.Mesh, *corev1.Pod, *corev1.Namespace:
		return false
	}
	return o.GetDeletionTimestamp() != nil
}

func originOf(kind string, o metav1.Object) model.Origin {
	return model.Origin{
		Object: model.ObjectRef{
			Group: api.GroupVersion.Group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(),
		},
	}
}
