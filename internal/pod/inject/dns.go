package inject

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// dnsMode returns which names the agent of a pod answers: by the annotation of the pod, else that of its namespace,
// else the setting of the mesh. A pod with its own capture container has no redirected questions.
func (w *Webhook) dnsMode(pod *corev1.Pod, namespace map[string]string) (model.DNSMode, error) {
	text, of := annotationOf(pod, namespace, sidecar.DNSAnnotation)
	mode := model.DNSMode(text)
	if mode == "" {
		mode = cmp.Or(w.Mesh.Sidecar.DNS, model.DNSUnresolved)
	} else if !mode.Valid() {
		return "", fmt.Errorf("annotation %s of %s is %q; set %s, %s or %s", sidecar.DNSAnnotation,
			of, mode, model.DNSUnresolved, model.DNSAll, model.DNSOff)
	}
	if hasContainer(pod, captureContainer) {
		return model.DNSOff, nil
	}
	return mode, nil
}
