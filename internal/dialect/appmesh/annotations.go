package appmesh

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
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
			out = append(out, fmt.Sprintf("annotation %s is unknown; did you mean %s%s?", name, prefix, nearest(key, readAnnotations)))
		}
	}
	return out
}

// nearest returns the name with the fewest changed characters, ignoring case.
func nearest(text string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int {
		return changes(strings.ToLower(text), strings.ToLower(a)) - changes(strings.ToLower(text), strings.ToLower(b))
	})
}

// maxCompared limits the compared bytes of a name, because the name is of a user.
const maxCompared = 64

// changes returns the number of inserted, removed and replaced bytes (the Levenshtein distance).
func changes(a, b string) int {
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
