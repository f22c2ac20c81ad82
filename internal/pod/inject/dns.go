package inject

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// answersNames reports whether the agent of a pod answers DNS questions: by the annotation of the pod, else that of its
// namespace, else the setting of the mesh. The names come from the xDS server, which drivers without a renderer do not
// have.
func (w *Webhook) answersNames(pod *corev1.Pod, namespace map[string]string, class string) (bool, error) {
	mode, of := annotationOf(pod, namespace, sidecar.DNSAnnotation)
	if mode == "" {
		mode, of = w.Mesh.Sidecar.DNS, "the mesh configuration"
	}
	_, renders := sidecar.RendererOf(class)
	switch mode {
	case sidecar.DNSOff:
		return false, nil
	case sidecar.DNSUnresolved, "":
		return renders && !hasContainer(pod, captureContainer), nil // the pod's own capture container leaves DNS alone
	}
	return false, fmt.Errorf("annotation %s of %s is %q; set %s or %s", sidecar.DNSAnnotation,
		of, mode, sidecar.DNSOff, sidecar.DNSUnresolved)
}
