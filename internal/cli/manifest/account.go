package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// accounts adds the ServiceAccounts of pods that the files do not have. Kubernetes creates "default" in each namespace,
// and refuses pods of others that do not exist.
func (s *Set) accounts() {
	missing := map[types.NamespacedName]bool{}
	for _, o := range s.Objects {
		if pod, is := o.(*corev1.Pod); is {
			missing[types.NamespacedName{Namespace: pod.Namespace, Name: cmp.Or(pod.Spec.ServiceAccountName, "default")}] = true
		}
	}
	for _, o := range s.Objects {
		if account, is := o.(*corev1.ServiceAccount); is {
			delete(missing, client.ObjectKeyFromObject(account))
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(missing), func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	}) {
		s.Objects = append(s.Objects, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name,
		}})
	}
}
