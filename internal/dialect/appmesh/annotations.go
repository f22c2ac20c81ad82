package appmesh

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/spelling"
)

// readAnnotations are the annotations of pods that PodOptions and InjectionMode read, without the prefix.
var readAnnotations = []string{
	"appmeshCNI", "cpuLimit", "cpuRequest", "egressIgnoredIPs", "egressIgnoredPorts", "ipv6", "memoryLimit", "memoryRequest",
	"ports", "sds", "secretMounts", "sidecarEnv", "sidecarEnvJson", "sidecarInjectorWebhook",
	"virtualGatewaySkipImageOverride", "volumeMounts", "xrayAgentConfigMount",
}

// writtenAnnotations are set for CNI plugins; the values of users are replaced.
var writtenAnnotations = []string{"ignoredUID", "proxyEgressPort", "proxyIngressPort"}

// legacyAnnotations had no effect in v1beta2 of App Mesh, either. Published manifests still have them.
var legacyAnnotations = []string{"mesh", "virtualNode"}

// unsupportedAnnotations have no effect, for a reason.
var unsupportedAnnotations = map[string]string{
	"preview":    "there is no preview channel",
	"ignoredGID": "the proxy is recognized by its user, as in App Mesh",
}

// annotationWarnings returns warnings for annotations without an effect.
func annotationWarnings(pod *corev1.Pod, o dialect.PodOptions) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(pod.Annotations)) {
		key, ours := strings.CutPrefix(name, prefix)
		if !ours || slices.Contains(readAnnotations, key) || slices.Contains(legacyAnnotations, key) {
			continue
		}
		reason, known := unsupportedAnnotations[key]
		switch {
		case known && key == "preview" && !strings.EqualFold(pod.Annotations[name], "enabled"):
		case known:
			out = append(out, fmt.Sprintf("annotation %s is not supported: %s", name, reason))
		case slices.Contains(writtenAnnotations, key):
			if want := cniAnnotations(o)[name]; pod.Annotations[name] != want {
				out = append(out, fmt.Sprintf("annotation %s has no effect: the injector sets it for CNI plugins, to %s", name, want))
			}
		default:
			out = append(out, fmt.Sprintf("annotation %s is unknown; did you mean %s%s?", name, prefix, spelling.Nearest(key, readAnnotations)))
		}
	}
	return out
}
