package inject

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
)

// prefix is that of App Mesh's annotations, which users' manifests carry.
const prefix = "appmesh.k8s.aws/"

// ModeKey is the pod annotation and namespace label that switches injection: enabled or disabled.
const ModeKey = prefix + "sidecarInjectorWebhook"

// Designator finds the workload that a pod will be an instance of. It reports false if there is none; an error is the
// reason why the pod cannot be placed, in words for its owner.
type Designator interface {
	Designate(ctx context.Context, pod *corev1.Pod) (model.Workload, bool, error)
}

// Namespaces gives the labels of a namespace.
type Namespaces interface {
	Labels(ctx context.Context, namespace string) (map[string]string, error)
}

type mode int

const (
	unspecified mode = iota
	enabled
	disabled
)

// modeOf reads the pod's annotation, else the namespace's label. Other values than the two count as unspecified.
func modeOf(pod *corev1.Pod, namespaceLabels map[string]string) mode {
	value, ok := pod.Annotations[ModeKey]
	if !ok {
		value = namespaceLabels[ModeKey]
	}
	switch strings.ToLower(value) {
	case "enabled":
		return enabled
	case "disabled":
		return disabled
	}
	return unspecified
}

// errNoWorkload is what App Mesh said to owners of pods that should be injected and match nothing.
const errNoWorkload = "sidecarInject enabled but no matching VirtualNode or VirtualGateway found"

// decide finds the workload of a pod. It reports false for a pod that is to be left as it is.
func (w *Webhook) decide(ctx context.Context, pod *corev1.Pod) (model.Workload, bool, error) {
	windows := pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows
	if pod.Namespace == w.SystemNamespace || pod.Spec.HostNetwork || windows {
		return model.Workload{}, false, nil
	}
	labels, err := w.Namespaces.Labels(ctx, pod.Namespace)
	if err != nil {
		return model.Workload{}, false, fmt.Errorf("namespace %s of the pod: %w", pod.Namespace, err)
	}
	m := modeOf(pod, labels)
	if m == disabled {
		return model.Workload{}, false, nil
	}
	workload, found, err := w.Designator.Designate(ctx, pod)
	if err != nil {
		return model.Workload{}, false, err
	}
	if !found && m == enabled {
		return model.Workload{}, false, fmt.Errorf("%s for pod %s in namespace %s; create one, or annotate the pod with %s: disabled",
			errNoWorkload, podName(pod), pod.Namespace, ModeKey)
	}
	return workload, found, nil
}

// podName gives the name of a pod, which may still be only the beginning of one.
func podName(pod *corev1.Pod) string {
	if pod.Name != "" {
		return pod.Name
	}
	return pod.GenerateName
}
