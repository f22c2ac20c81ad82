package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// annotationOf returns an annotation of a pod, or else of its namespace, and the object that has it.
func annotationOf(pod *corev1.Pod, namespace map[string]string, name string) (value, of string) {
	if value := pod.Annotations[name]; value != "" {
		return value, "the pod"
	}
	return namespace[name], "namespace " + pod.Namespace
}

// classOf returns the sidecarClass of a pod: its annotation, else that of its namespace, else the mesh's default.
// Errors name the annotation and its valid values.
func classOf(mesh *sidecar.MeshConfig, pod *corev1.Pod, namespace map[string]string) (string, error) {
	class, of := annotationOf(pod, namespace, sidecar.ClassAnnotation)
	served := slices.DeleteFunc(mesh.Classes(), func(c string) bool { return !slices.Contains(sidecar.Drivers(), c) })
	switch {
	case class == "":
		return mesh.GetSidecarClass(), nil
	case slices.Contains(served, class):
		return class, nil
	case slices.Contains(sidecar.Drivers(), class):
		return "", fmt.Errorf("annotation %s of %s is %q, a driver without settings in the mesh: add an entry with sidecarName, sidecarImage and "+
			"proxyServerPort to osm.sidecarDrivers of the Helm values; the classes of the mesh are %s", sidecar.ClassAnnotation, of, class, strings.Join(served, ", "))
	}
	return "", fmt.Errorf("annotation %s of %s is %q, which is not a sidecar driver; the classes of the mesh are %s",
		sidecar.ClassAnnotation, of, class, strings.Join(served, ", "))
}
