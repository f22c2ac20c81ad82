package l7mp

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/l7mp/v1"
)

// AssumeNamespace assumes nothing: objects have effect in each namespace.
func (Dialect) AssumeNamespace([]client.Object, string, map[string]string) (assumed map[string]string,
	assumption string) {
	return nil, ""
}

// AssumeMeshes returns none: there is one mesh.
func (Dialect) AssumeMeshes([]client.Object) []client.Object { return nil }

// AssumeProxy reports whether a pod has a container for the proxy and a network of its own, and its namespace does not
// exclude it.
func (d Dialect) AssumeProxy(pod *corev1.Pod, namespace *corev1.Namespace) bool {
	if !hasContainer(pod) || pod.Spec.HostNetwork {
		return false
	}
	value, set := "", false
	if namespace != nil {
		value, set = namespace.Labels[injectionLabel]
	}
	return !set || value == enabled
}

// PodSelector returns the selector of a VirtualService for pods of its namespace.
func (Dialect) PodSelector(object client.Object) (selector *metav1.LabelSelector, path string) {
	v, is := object.(*api.VirtualService)
	if !is || v.Spec.Selector == nil {
		return nil, ""
	}
	s := v.Spec.Selector
	if s.MatchService != "" || len(s.MatchFields) > 0 || s.MatchNamespace != "" && s.MatchNamespace != v.Namespace {
		return nil, ""
	}
	return labelSelector(s), "spec.selector"
}
