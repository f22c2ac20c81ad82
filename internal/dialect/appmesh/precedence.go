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

// precedence orders objects that want the same thing, from old to young: the older one keeps it. Objects of one age are
// ordered by name.
type precedence struct {
	created         int64 // in seconds: the API server keeps no fractions
	namespace, name string
}

func precedenceOf(o metav1.Object) precedence {
	return precedence{o.GetCreationTimestamp().Truncate(time.Second).Unix(), o.GetNamespace(), o.GetName()}
}

func (a precedence) compare(b precedence) int {
	return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.namespace, b.namespace),
		strings.Compare(a.name, b.name))
}

// isDeleting tells whether an object means nothing any more although it is still there, kept by a finalizer. A Mesh
// goes on until its members are gone, and pods and namespaces until they are.
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
