package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sidecarsOfNode exceeds the number of pods that Kubernetes recommends for a node, 110.
const sidecarsOfNode = 120

const manySidecars = `
{apiVersion: v1, kind: Namespace, metadata: {name: many, labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: many, name: many}
spec:
  podSelector: {matchLabels: {app: many}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: many.many.svc.cluster.local}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: many, name: many}
spec:
  replicas: %d
  selector: {matchLabels: {app: many}}
  template:
    metadata: {labels: {app: many}}
    spec:
      containers:
        - {name: app, image: anymesh.dev/colors, args: [serve, "--listen=:8080", --version=many]}
`

// TestManySidecarsOnOneNode starts as many sidecars on one node as Kubernetes has pods there, with the limits that the
// kernel has. Its limit of instances of inotify is 128 for each user: a sidecar takes none.
func TestManySidecarsOnOneNode(t *testing.T) {
	onlyLong(t)
	apply(t, fmt.Sprintf(manySidecars, sidecarsOfNode))
	within(t, 15*time.Minute, "all pods are ready", func() error {
		d, err := lab.kube.AppsV1().Deployments("many").Get(t.Context(), "many", metav1.GetOptions{})
		if err == nil && d.Status.ReadyReplicas != sidecarsOfNode {
			err = fmt.Errorf("%d of %d", d.Status.ReadyReplicas, sidecarsOfNode)
		}
		return err
	})
	pods, err := lab.kube.CoreV1().Pods("many").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		for _, c := range p.Status.InitContainerStatuses {
			if c.RestartCount > 0 {
				log, err := kubectl(t.Context(), "-n", "many", "logs", "--previous", p.Name, "-c", c.Name)
				t.Errorf("container %s of pod %s has restarted: %+v\n%s%v", c.Name, p.Name, c.LastTerminationState.Terminated, log, err)
			}
		}
	}
	instances := mustOnNode(t, "sh", "-c", `for p in /proc/[0-9]*; do
		case "$(cat $p/comm 2>/dev/null)" in
		envoy | anymesh) ls -l $p/fd 2>/dev/null | grep -q inotify && tr '\0' ' ' <$p/cmdline && echo ;;
		esac
	done; true`)
	if strings.TrimSpace(instances) != "" {
		t.Errorf("processes with instances of inotify:\n%s", instances)
	}
	t.Logf("fs.inotify.max_user_instances is %s", mustOnNode(t, "cat", "/proc/sys/fs/inotify/max_user_instances"))
}
