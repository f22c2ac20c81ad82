package manifest

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// accounts adds the ServiceAccounts of pods that the files do not have. Kubernetes creates "default" in each namespace,
// and refuses pods of others that do not exist.
func (s *Set) accounts() {
	known := map[types.NamespacedName]bool{}
	for _, account := range dialect.ObjectsOf[*corev1.ServiceAccount](s.Objects) {
		known[client.ObjectKeyFromObject(account)] = true
	}
	for _, pod := range dialect.ObjectsOf[*corev1.Pod](s.Objects) {
		name := types.NamespacedName{Namespace: pod.Namespace, Name: cmp.Or(pod.Spec.ServiceAccountName, "default")}
		if !known[name] {
			known[name] = true
			s.Objects = append(s.Objects, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
				Namespace: name.Namespace, Name: name.Name,
			}})
		}
	}
}
