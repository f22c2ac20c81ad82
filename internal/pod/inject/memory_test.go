package inject

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// Keys are only in memory, and only the sidecar sees them: the folder that the agent writes to is an emptyDir of medium
// Memory that no other container has, and the token is for nobody else either.
func TestKeysAreInMemoryVolumeOfSidecar(t *testing.T) {
	raw := asJSON(t, plain)
	response := newWebhook(fakeCluster{
		labels: map[string]string{}, workload: front(),
	}).Handle(t.Context(), request(raw))
	var pod corev1.Pod
	if err := json.Unmarshal(admitted(t, raw, response), &pod); err != nil {
		t.Fatal(err)
	}
	seenBy := map[string][]string{}
	var folder string
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		for _, m := range c.VolumeMounts {
			seenBy[m.Name] = append(seenBy[m.Name], c.Name)
			if m.MountPath == sidecar.CertificatesDir {
				folder = m.Name
			}
		}
		if c.Name != "envoy" {
			continue
		}
		command := strings.Join(c.Command, " ")
		if !strings.Contains(command, "--cert-dir "+sidecar.CertificatesDir+" ") {
			t.Errorf("the agent writes elsewhere: %s", command)
		}
		if !*c.SecurityContext.ReadOnlyRootFilesystem {
			t.Error("the sidecar can write to its root file system")
		}
	}
	v := volumeOf(&pod, folder)
	if v == nil || v.EmptyDir == nil || v.EmptyDir.Medium != corev1.StorageMediumMemory {
		t.Fatalf("keys are written to volume %q: %+v", folder, v)
	}
	for _, name := range []string{folder, volumeToken} {
		if got := seenBy[name]; len(got) != 1 || got[0] != "envoy" {
			t.Errorf("volume %s is seen by %v", name, got)
		}
	}
	projected := volumeOf(&pod, volumeToken).Projected.Sources
	if len(projected) != 1 || projected[0].ServiceAccountToken.Audience != Audience ||
		*projected[0].ServiceAccountToken.ExpirationSeconds > 3600 {
		t.Errorf("the token: %+v", projected)
	}
}
