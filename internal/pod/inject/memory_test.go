package inject

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// The agent writes keys to an emptyDir of medium Memory. Only the sidecar mounts it and the token.
func TestKeysAreInMemoryVolumeOfSidecar(t *testing.T) {
	raw := asJSON(t, plainPod)
	response := newWebhook(fakeCluster{
		labels: map[string]string{}, workload: front(),
	}).Handle(t.Context(), request(raw))
	var pod corev1.Pod
	if err := json.Unmarshal(admitted(t, raw, response), &pod); err != nil {
		t.Fatal(err)
	}
	mounts := map[string][]string{}
	var folder string
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		for _, m := range c.VolumeMounts {
			mounts[m.Name] = append(mounts[m.Name], c.Name)
			if m.MountPath == sidecar.CertificatesDir {
				folder = m.Name
			}
		}
		if c.Name != "envoy" {
			continue
		}
		command := strings.Join(c.Command, " ")
		if !strings.Contains(command, "--cert-dir "+sidecar.CertificatesDir+" ") {
			t.Errorf("the agent writes to another folder: %s", command)
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
		if got := mounts[name]; len(got) != 1 || got[0] != "envoy" {
			t.Errorf("volume %s is mounted by %v", name, got)
		}
	}
	projected := volumeOf(&pod, volumeToken).Projected.Sources
	if len(projected) != 1 || projected[0].ServiceAccountToken.Audience != Audience ||
		*projected[0].ServiceAccountToken.ExpirationSeconds > 3600 {
		t.Errorf("projected token: %+v", projected)
	}
}
