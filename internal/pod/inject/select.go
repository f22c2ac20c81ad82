package inject

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Cluster is the cached state of the cluster.
type Cluster interface {
	// SelectWorkload selects the workload of a new pod. It reports false if there is none; an error is the text of the
	// denial.
	SelectWorkload(d dialect.Injection, pod *corev1.Pod) (model.Workload, bool, error)
	// Namespace returns a Namespace, which must not be modified.
	Namespace(name string) (*corev1.Namespace, bool)
	// ObjectsOf lists the objects of a kind.
	ObjectsOf(kind client.Object) []client.Object
	// Await calls try until it returns true: at once, and after each change of objects that the workload of a pod in the
	// namespace depends on. It returns soon in any case.
	Await(ctx context.Context, namespace string, try func() bool)
}

// selection is the selected workload of a pod, with its dialect and the annotations of the pod's namespace.
type selection struct {
	dialect   dialect.Injection
	workload  model.Workload
	namespace map[string]string
	// excluded is true if a workload of another dialect selects the pod, too, for which its injection is disabled.
	excluded bool
}

// mark records the dialect of a pod that is excluded from another one.
func (s selection) mark(pod *corev1.Pod) {
	delete(pod.Annotations, sidecar.DialectAnnotation)
	if s.excluded {
		pod.Annotations[sidecar.DialectAnnotation] = s.dialect.Name()
	}
}

// settings returns the settings of sidecars and the options of a pod: those of the mesh and of the pod, with those of
// the objects of the dialect.
func (w *Webhook) settings(s selection, pod *corev1.Pod) (*sidecar.MeshConfig, dialect.PodOptions, error) {
	options, err := s.dialect.PodOptions(pod, s.workload)
	mesh := w.Mesh
	if prefers, is := s.dialect.(dialect.PreferredFeatures); is {
		mesh = mesh.WithDefault(sidecar.Supporting(mesh.Classes(), prefers.PreferredFeatures()))
	}
	set, is := s.dialect.(dialect.SidecarSettings)
	if err != nil || !is {
		return mesh, options, err
	}
	var objects []client.Object
	for _, kind := range set.SettingsReads() {
		objects = append(objects, w.Cluster.ObjectsOf(kind)...)
	}
	err = set.AddPodOptions(objects, s.namespace, &options)
	return set.SidecarSettings(objects, mesh), options, err
}

// selectWorkload selects the workload of a pod, and reports false if the pod gets no sidecar. It waits for a Namespace
// or a workload that is not in the cache yet.
func (w *Webhook) selectWorkload(ctx context.Context, pod *corev1.Pod) (s selection, inject bool, err error) {
	windows := pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows
	if pod.Namespace == w.SystemNamespace || windows {
		return selection{}, false, nil
	}
	w.Cluster.Await(ctx, pod.Namespace, func() bool {
		namespace, known := w.Cluster.Namespace(pod.Namespace)
		if !known {
			err = fmt.Errorf("namespace %s of the pod is not known yet; try again", pod.Namespace)
			return false
		}
		var disabled bool
		s, disabled, err = w.claimOf(pod, namespace)
		inject = err == nil && s.dialect != nil
		// In the network of its node, a pod of which injection is required gets no sidecar in any case.
		return inject || disabled || err != nil && pod.Spec.HostNetwork
	})
	return s, inject, err
}

// claimOf returns the selection of the only dialect with a workload for a pod, or none. It reports whether injection
// is disabled for all of them. It denies a pod that workloads of two dialects select.
func (w *Webhook) claimOf(pod *corev1.Pod, namespace *corev1.Namespace) (_ selection, disabled bool, _ error) {
	disabled = true
	var claims []selection
	var missing error
	excluded := false
	for _, d := range w.Dialects {
		mode := d.InjectionMode(pod, namespace)
		if mode == dialect.InjectionDisabled {
			_, found, err := w.Cluster.SelectWorkload(d, pod)
			excluded = excluded || found && err == nil
			continue
		}
		disabled = false
		workload, found, err := w.Cluster.SelectWorkload(d, pod)
		var leaving *dialect.LeavingError
		switch {
		case errors.As(err, &leaving):
			if mode == dialect.InjectionEnabled {
				missing = errors.Join(missing, err)
			}
		case err != nil:
			return selection{}, false, err
		case found:
			claims = append(claims, selection{dialect: d, workload: workload, namespace: namespace.Annotations})
		case mode == dialect.InjectionEnabled:
			missing = errors.Join(missing, d.NoWorkload(pod))
		}
	}
	switch len(claims) {
	case 0:
		return selection{}, disabled, missing
	case 1:
		claims[0].excluded = excluded
		return claims[0], false, nil
	}
	var names []string
	for _, c := range claims {
		names = append(names, fmt.Sprintf("%s of %s", c.workload.Origin.Object(), c.dialect.Title()))
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
