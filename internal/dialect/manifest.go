package dialect

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Manifests is a dialect that says what commands assume for files that are not a whole cluster.
type Manifests interface {
	// AssumeNamespace returns the assumed labels of a Namespace that is not among the objects, and the text of the
	// assumption, or "". labels are those that are known.
	AssumeNamespace(objects []client.Object, name string,
		labels map[string]string) (assumed map[string]string, assumption string)
	// AssumeMeshes returns the meshes of objects that are not among them. Without its mesh, an object has no other
	// finding.
	AssumeMeshes(objects []client.Object) []client.Object
	// AssumeProxy reports whether injection gives a pod the proxy of a gateway. namespace is nil for a Namespace that is
	// not in the files.
	AssumeProxy(pod *corev1.Pod, namespace *corev1.Namespace) bool
	// PodSelector returns the selector of an object for pods of its namespace, and its path; nil if it has none.
	PodSelector(object client.Object) (selector *metav1.LabelSelector, path string)
}

// Installed is a dialect that reads nothing unless a setting enables it.
type Installed interface {
	// Installed returns the dialect with the setting, and the objects of the chart that its rules read.
	Installed() (Dialect, []client.Object)
}

// ShortNames is a dialect with short names that its CustomResourceDefinitions do not have, because those must be unique
// in a cluster.
type ShortNames interface {
	// ShortNames maps short names to kinds.
	ShortNames() map[string]string
}
