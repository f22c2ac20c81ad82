package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimedNamespace is a member of a mesh of App Mesh and of one of Open Service Mesh. A VirtualNode selects its pods.
const claimedNamespace = `
apiVersion: v1
kind: Namespace
metadata:
  name: claimed
  labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled, openservicemesh.io/monitored-by: osm}
  annotations: {openservicemesh.io/sidecar-injection: enabled}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: cart, namespace: claimed}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: cart, namespace: claimed}
spec:
  podSelector: {matchLabels: {app: cart}}
  listeners: [{portMapping: {port: 9080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: cart.claimed.svc.cluster.local}}
`

// claimedPod is a pod with annotations that both meshes claim.
func claimedPod(name, annotations string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: claimed, labels: {app: cart}, annotations: {%s}}
spec:
  serviceAccountName: cart
  containers: [{name: app, image: anymesh.dev/colors, args: [serve, --listen=:9080], readinessProbe: {httpGet: {path: /healthz, port: 9080}, periodSeconds: 1}}]
`, name, annotations)
}

// TestPodOfTwoMeshes checks that a pod that App Mesh and Open Service Mesh claim is refused with both names, however it
// is created, and that it is a member of one of them when its annotations exclude it from the other.
func TestPodOfTwoMeshes(t *testing.T) {
	apply(t, claimedNamespace)
	const claims = "VirtualNode claimed/cart of App Mesh, ServiceAccount claimed/cart of Open Service Mesh"
	t.Run("kubectl", func(t *testing.T) {
		_, err := kubectlInput(t.Context(), claimedPod("both", ""), "create", "-f", "-")
		if err == nil || !strings.Contains(err.Error(), claims) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("client-go", func(t *testing.T) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "both", Labels: map[string]string{"app": "cart"}},
			Spec: corev1.PodSpec{
				ServiceAccountName: "cart", Containers: []corev1.Container{{Name: "app", Image: "anymesh.dev/colors"}},
			},
		}
		_, err := lab.kube.CoreV1().Pods("claimed").Create(t.Context(), pod, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), claims) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Deployment", func(t *testing.T) {
		apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: claimed}
spec:
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec: {serviceAccountName: cart, containers: [{name: app, image: anymesh.dev/colors}]}
`)
		eventually(t, 10*time.Second, "the Deployment tells it", func() error {
			got := run(t, "-n", "claimed", "get", "deployment", "cart", "-o",
				`jsonpath={.status.conditions[?(@.type=="ReplicaFailure")].message}`)
			if !strings.Contains(got, claims) {
				return fmt.Errorf("got %q", got)
			}
			return nil
		})
	})
	t.Run("excluded from one", func(t *testing.T) {
		apply(t, claimedPod("appmesh", "openservicemesh.io/sidecar-injection: disabled"))
		apply(t, claimedPod("osm", "appmesh.k8s.aws/sidecarInjectorWebhook: disabled"))
		for pod, workload := range map[string]string{"appmesh": "colors/cart_claimed", "osm": "osm/claimed/cart"} {
			run(t, "-n", "claimed", "wait", "--for=condition=Ready", "pod/"+pod, "--timeout=180s")
			eventually(t, 20*time.Second, pod+" is an instance of "+workload, func() error {
				out, err := anymesh(t.Context(), "proxy", "status", "--kubeconfig", lab.kubeconfig)
				if err != nil || !hasLine(out, "claimed/"+pod+" ", workload) {
					return fmt.Errorf("%w\n%s", err, out)
				}
				return nil
			})
		}
	})
}
