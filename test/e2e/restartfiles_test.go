package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// openAdmin is configuration that opens the admin interface of Envoy, with the private key in its memory, to everybody.
const openAdmin = `{"admin": {"address": {"socket_address": {"address": "0.0.0.0", "port_value": 9999}}}}`

// testRestartAfterChanges changes what one can change of a running pod, the annotations and its ConfigMap, and has
// kubelet restart its sidecar: Envoy starts with the configuration of its first start.
func testRestartAfterChanges(t *testing.T) {
	pods := lab.kube.CoreV1().Pods("traces")
	pod := podOf(t, "traces", "app=back")
	run(t, "-n", "traces", "annotate", "--overwrite", "pod", pod.Name, "anymesh.dev/file.envoy.json="+openAdmin)
	run(t, "-n", "traces", "patch", "configmap", "tracing", "--type=merge", "-p",
		fmt.Sprintf(`{"data": {"tracing.yaml": %q}}`, openAdmin))
	process := processAt(t, "anymesh", pod.Status.PodIP)
	eventually(t, 90*time.Second, "the change is in the volume", func() error {
		// A change of the pod makes kubelet update its volumes.
		run(t, "-n", "traces", "annotate", "--overwrite", "pod", pod.Name, fmt.Sprint("now=", time.Now().UnixNano()))
		_, err := onNode(t.Context(), "grep", "-q", "9999", "/proc/"+process+"/root/config/tracing.yaml")
		return err
	})
	killAgent(t, pod)
	eventually(t, 30*time.Second, "the sidecar is ready again", func() error {
		now, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range now.Status.InitContainerStatuses {
			if c.Name == "envoy" && c.RestartCount > 0 && c.Ready {
				return nil
			}
		}
		return fmt.Errorf("status %+v", now.Status.InitContainerStatuses)
	})
	log, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{Container: "envoy"}).DoRaw(t.Context())
	if err != nil || !strings.Contains(string(log), "it keeps their first content until the pod is replaced") {
		t.Errorf("the agent did not see the change: %v\n%s", err, log)
	}
	if err := checkNoListener(t.Context(), pod.Status.PodIP, 9999); err != nil {
		t.Errorf("the admin interface of Envoy: %v", err)
	}
}

// testImagesStay checks that nobody changes the image of the container with the keys of a running pod, or that of the
// packet rules. Other changes of the pod are admitted.
func testImagesStay(t *testing.T) {
	pods := lab.kube.CoreV1().Pods("traces")
	front := podOf(t, "traces", "app=front")
	name := front.Name
	for i, c := range front.Spec.InitContainers {
		for _, patch := range []string{
			fmt.Sprintf(`[{"op": "replace", "path": "/spec/initContainers/%d/image", "value": "attacker"}]`, i),
			fmt.Sprintf(`[{"op": "remove", "path": "/metadata/labels"}, {"op": "replace", "path": "/spec/initContainers/%d/image", "value": "attacker"}]`, i),
		} {
			_, err := pods.Patch(t.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || !strings.Contains(err.Error(), "cannot change; replace the pod") {
				t.Errorf("%s: %s: got error %v", c.Name, patch, err)
			}
		}
	}
	for _, patch := range []string{
		`[{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]`, `[{"op": "add", "path": "/metadata/labels/a", "value": "b"}]`,
	} {
		if _, err := pods.Patch(t.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
}
