package inject

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Dialect is a dialect whose workloads get sidecars by injection.
type Dialect interface {
	// Title is the display name of the dialect.
	Title() string
	// InjectionMode returns the injection mode for a pod and the labels of its namespace.
	InjectionMode(pod *corev1.Pod, namespaceLabels map[string]string) dialect.InjectionMode
	// NoWorkload returns the denial of a pod with injection enabled that no workload selects.
	NoWorkload(pod *corev1.Pod) error
	// PodOptions reads the sidecar options from the annotations of a pod. Errors name the annotation.
	PodOptions(pod *corev1.Pod, w model.Workload) (dialect.PodOptions, error)
}

// Workloads selects the workload of a new pod. It reports false if there is none; an error is the text of the denial.
type Workloads interface {
	SelectWorkload(ctx context.Context, d Dialect, pod *corev1.Pod) (model.Workload, bool, error)
}

// Namespaces returns the labels and annotations of a namespace.
type Namespaces interface {
	Labels(ctx context.Context, namespace string) (map[string]string, error)
	Annotations(ctx context.Context, namespace string) (map[string]string, error)
}

// selection is the selected workload of a pod, with its dialect.
type selection struct {
	dialect  Dialect
	workload model.Workload
}

// selectWorkload selects the workload of a pod. It reports false if the pod gets no sidecar. It denies a pod that
// workloads of two dialects select.
func (w *Webhook) selectWorkload(ctx context.Context, pod *corev1.Pod) (selection, bool, error) {
	windows := pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows
	if pod.Namespace == w.SystemNamespace || windows {
		return selection{}, false, nil
	}
	labels, err := w.Namespaces.Labels(ctx, pod.Namespace)
	if err != nil {
		return selection{}, false, fmt.Errorf("namespace %s of the pod: %w", pod.Namespace, err)
	}
	var claims []selection
	var missing error
	for _, d := range w.Dialects {
		mode := d.InjectionMode(pod, labels)
		if mode == dialect.InjectionDisabled {
			continue
		}
		workload, found, err := w.Workloads.SelectWorkload(ctx, d, pod)
		var leaving *dialect.LeavingError
		switch {
		case errors.As(err, &leaving):
			if mode == dialect.InjectionEnabled {
				missing = errors.Join(missing, err)
			}
		case err != nil:
			return selection{}, false, err
		case found:
			claims = append(claims, selection{d, workload})
		case mode == dialect.InjectionEnabled:
			missing = errors.Join(missing, d.NoWorkload(pod))
		}
	}
	switch len(claims) {
	case 0:
		return selection{}, false, missing
	case 1:
		return claims[0], true, nil
	}
	var names []string
	for _, c := range claims {
		names = append(names, fmt.Sprintf("%s of %s", c.workload.Origin.Object, c.dialect.Title()))
	}
	return selection{}, false, fmt.Errorf("pod %s in namespace %s is selected by workloads of several APIs: %s; change their selectors, "+
		"or disable injection for all APIs but one", podName(pod), pod.Namespace, strings.Join(names, ", "))
}

// podName returns the name of a pod, or its generateName.
func podName(pod *corev1.Pod) string {
	if pod.Name != "" {
		return pod.Name
	}
	return pod.GenerateName
}
