package l7mp

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// podSet is the pods of a namespace with the same labels. Selectors match all of them or none, so that they are
// instances of one workload, which stays the same when objects that select them come and go.
type podSet struct {
	namespace string
	labels    store.Labels
}

// ignoredLabels are labels that differ between the pods of one workload of Kubernetes.
var ignoredLabels = []string{
	sidecar.UUIDLabel, appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey,
	appsv1.DeprecatedTemplateGeneration,
}

// nameLabels are the labels with the name of an application, in the order of precedence.
var nameLabels = []string{"app", "app.kubernetes.io/name", "k8s-app"}

// podSetOf returns the set of a pod.
func podSetOf(namespace string, labels map[string]string) podSet {
	labels = maps.Clone(labels)
	for _, l := range ignoredLabels {
		delete(labels, l)
	}
	return podSet{namespace, store.NewLabels(labels)}
}

// workload returns the key of the workload: NAMESPACE/NAME by the first of nameLabels. Further labels add a hash.
func (s podSet) workload() model.Key {
	labels := maps.Collect(s.labels.All())
	name := ""
	for _, l := range slices.Backward(nameLabels) {
		if v := labels[l]; v != "" {
			name = v
		}
	}
	if name == "" {
		name = "pods"
	}
	if len(labels) != 1 || name == "pods" {
		hash := sha256.Sum256([]byte(s.labels))
		name += "-" + hex.EncodeToString(hash[:4])
	}
	return model.Key{Mesh: mesh, Name: s.namespace + "/" + name}
}

// String returns the name of the workload.
func (s podSet) String() string { return s.workload().Name }
