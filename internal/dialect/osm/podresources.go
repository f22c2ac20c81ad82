package osm

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resourceAnnotation is the start of the annotations of osm-edge for the resources of sidecars, of a pod or else of its
// namespace: sidecar-resource-limits-cpu.
const resourceAnnotation = prefix + "sidecar-resource-"

// sidecarResources returns the resources of the sidecar that annotations set, and warnings about annotations without
// effect.
func sidecarResources(annotations map[string]string) (out corev1.ResourceRequirements, warnings []string, _ error) {
	for _, list := range []struct {
		name string
		into *corev1.ResourceList
	}{{"limits", &out.Limits}, {"requests", &out.Requests}} {
		start := resourceAnnotation + list.name + "-"
		for _, name := range []corev1.ResourceName{
			corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		} {
			text, set := annotations[start+string(name)]
			if !set {
				continue
			}
			quantity, err := resource.ParseQuantity(text)
			if err != nil {
				return out, nil, fmt.Errorf("annotation %s%s: %q is not a quantity: %w", start, name, text, err)
			}
			if *list.into == nil {
				*list.into = corev1.ResourceList{}
			}
			(*list.into)[name] = quantity
		}
		if storage := start + string(corev1.ResourceStorage); annotations[storage] != "" {
			warnings = append(warnings, fmt.Sprintf("annotation %s has no effect: containers have no storage; use %s%s", storage,
				start, corev1.ResourceEphemeralStorage))
		}
	}
	return out, warnings, nil
}
