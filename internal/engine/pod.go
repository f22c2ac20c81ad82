package engine

import (
	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/store"
)

// Pod is the part of a pod that dialects and the engine read.
type Pod = store.Pod

// TrimPod returns the part of a pod that dialects and the engine read. It is a transform for the informer cache: most
// objects of a cluster are pods.
func TrimPod(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return store.NewPod(pod), nil
	}
	return object, nil
}
