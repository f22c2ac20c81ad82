package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// maxFile limits the size of a file of the sidecar, in bytes. The kernel accepts variables of 128 KiB.
const maxFile = 120 << 10

// rootVariable has the roots that the pod was injected with, in PEM.
const rootVariable = sidecar.FileVariable + rootFile

// oldRootAnnotation has the roots of a pod that was injected by an older version.
const oldRootAnnotation = "anymesh.dev/file." + rootFile

// setFiles stores the sidecar's files in variables of its container, from which the agent writes them at each start.
// The environment cannot change after admission, as annotations and ConfigMaps can. Variables of the user with the
// prefix are removed.
func setFiles(c *corev1.Container, files map[string][]byte) error {
	c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return strings.HasPrefix(e.Name, sidecar.FileVariable) })
	for _, name := range sortedKeys(files) {
		if len(files[name]) > maxFile {
			return fmt.Errorf("file %s of its sidecar has %d bytes, more than %d", name, len(files[name]), maxFile)
		}
		escaped := strings.ReplaceAll(string(files[name]), "$", "$$") // kubelet expands $(NAME)
		c.Env = append(c.Env, corev1.EnvVar{Name: sidecar.FileVariable + name, Value: escaped})
	}
	return nil
}

// Roots returns the roots that a pod was injected with, in PEM; nil for a pod without a sidecar.
func Roots(pod *corev1.Pod) []byte {
	if c := Agent(pod); c != nil {
		for _, e := range c.Env {
			if e.Name == rootVariable {
				return []byte(e.Value)
			}
		}
	}
	return []byte(pod.Annotations[oldRootAnnotation])
}
