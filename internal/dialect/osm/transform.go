package osm

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	"anymesh.dev/anymesh/internal/gateway"
)

// Transforms returns the transforms of cached ServiceAccounts, of which only the name is read, of EndpointSlices, and
// of TrafficTargets, whose last application is read before the cache drops it.
func (Dialect) Transforms() map[client.Object]cache.TransformFunc {
	out := gateway.Transforms()
	out[&corev1.ServiceAccount{}] = trimAccount
	out[&access.TrafficTarget{}] = markLeftPort
	return out
}

func trimAccount(object any) (any, error) {
	account, is := object.(*corev1.ServiceAccount)
	if !is {
		return object, nil
	}
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: account.Namespace, Name: account.Name, UID: account.UID, ResourceVersion: account.ResourceVersion,
	}}, nil
}
