package manifest

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// inject marks pods that are made from templates as injected, if injection would give them the proxy of a gateway.
func (s *Set) inject(dialects []dialect.Dialect) {
	namespaces := map[string]*corev1.Namespace{}
	for _, o := range s.Objects {
		if ns, is := o.(*corev1.Namespace); is {
			namespaces[ns.Name] = ns
		}
	}
	for _, o := range s.Objects {
		pod, is := o.(*corev1.Pod)
		if !is || !fromTemplate(pod) {
			continue
		}
		for _, d := range dialect.Implementing[dialect.Manifests](dialects) {
			if d.AssumeProxy(pod, namespaces[pod.Namespace]) {
				pod.Labels = with(pod.Labels, sidecar.UUIDLabel, assumed)
				if class := assumedClass(d, pod, namespaces[pod.Namespace]); class != "" {
					pod.Annotations = with(pod.Annotations, sidecar.ClassAnnotation, class)
				}
				if pod.Annotations[sidecar.DNSAnnotation] == "" { // without it, a pod is older than the modes
					pod.Annotations = with(pod.Annotations, sidecar.DNSAnnotation, string(model.DNSUnresolved))
				}
			}
		}
	}
}

// assumedClass returns the sidecarClass that injection gives a pod; empty for the default of the mesh.
func assumedClass(d dialect.Manifests, pod *corev1.Pod, namespace *corev1.Namespace) string {
	class := pod.Annotations[sidecar.ClassAnnotation]
	if namespace != nil {
		class = cmp.Or(class, namespace.Annotations[sidecar.ClassAnnotation])
	}
	if prefers, is := d.(dialect.PreferredFeatures); is {
		class = cmp.Or(class, sidecar.Supporting(sidecar.Drivers(), prefers.PreferredFeatures()))
	}
	return class
}
