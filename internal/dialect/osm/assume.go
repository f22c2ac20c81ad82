package osm

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// AssumeNamespace assumes nothing: the label of a Namespace says what it is.
func (Dialect) AssumeNamespace([]client.Object, string, map[string]string) (assumed map[string]string,
	assumption string) {
	return nil, ""
}

// AssumeMeshes returns none: Namespaces name their meshes.
func (Dialect) AssumeMeshes([]client.Object) []client.Object { return nil }

// AssumeProxy reports whether injection gives a pod a sidecar.
func (d Dialect) AssumeProxy(pod *corev1.Pod, namespace *corev1.Namespace) bool {
	if namespace == nil || pod.Spec.HostNetwork {
		return false
	}
	_, err := injectionOf(pod, namespace)
	return err == nil && d.InjectionMode(pod, namespace) == dialect.InjectionEnabled
}

// PodSelector returns none: Services select pods, for every dialect.
func (Dialect) PodSelector(client.Object) (selector *metav1.LabelSelector, path string) {
	return nil, ""
}
