package inject

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// classOf returns the sidecarClass of a pod: its annotation, else that of its namespace, else the mesh's default.
// Errors name the annotation and its valid values.
func (w *Webhook) classOf(ctx context.Context, pod *corev1.Pod) (string, error) {
	class, of := pod.Annotations[sidecar.ClassAnnotation], "the pod"
	if class == "" {
		annotations, err := w.Namespaces.Annotations(ctx, pod.Namespace)
		if err != nil {
			return "", fmt.Errorf("namespace %s of the pod: %w", pod.Namespace, err)
		}
		class, of = annotations[sidecar.ClassAnnotation], "namespace "+pod.Namespace
	}
	served := slices.DeleteFunc(w.Mesh.Classes(), func(c string) bool { return !slices.Contains(sidecar.Drivers(), c) })
	switch {
	case class == "":
		return w.Mesh.GetSidecarClass(), nil
	case slices.Contains(served, class):
		return class, nil
	case slices.Contains(sidecar.Drivers(), class):
		return "", fmt.Errorf("annotation %s of %s is %q, a driver without settings in the mesh: add an entry with sidecarName, sidecarImage and "+
			"proxyServerPort to osm.sidecarDrivers of the Helm values; the classes of the mesh are %s", sidecar.ClassAnnotation, of, class, strings.Join(served, ", "))
	}
	return "", fmt.Errorf("annotation %s of %s is %q, which is not a sidecar driver; the classes of the mesh are %s",
		sidecar.ClassAnnotation, of, class, strings.Join(served, ", "))
}
