package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// probedManifests run pods of the mesh whose probes all use a captured port. "good" is healthy; "failing" responds to
// its liveness probe with 500; "silent" does not listen on its probe port, although the sidecar accepts connections
// there.
const probedManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: probed}
spec:
  podSelector: {matchLabels: {app: probed}}
  listeners:
    - {portMapping: {port: 8080, protocol: http}}
    - {portMapping: {port: 8082, protocol: http2}}
  serviceDiscovery: {dns: {hostname: probed.colors.svc.cluster.local}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: colors, name: good, labels: {app: probed}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: anymesh.dev/colors
      args: [serve]
      ports: [{name: web, containerPort: 8080}]
      startupProbe: {httpGet: {path: /start, port: web}, periodSeconds: 1}
      livenessProbe: {tcpSocket: {port: web}, periodSeconds: 1}
      readinessProbe: {httpGet: {path: /ready, port: 8080, httpHeaders: [{name: X-Probe, value: kubelet}]}, periodSeconds: 1}
---
apiVersion: v1
kind: Pod
metadata: {namespace: colors, name: failing, labels: {app: probed}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: anymesh.dev/colors
      args: [serve]
      livenessProbe: {httpGet: {path: /status/500, port: 8080}, periodSeconds: 1, failureThreshold: 1}
---
apiVersion: v1
kind: Pod
metadata: {namespace: colors, name: silent, labels: {app: probed}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: anymesh.dev/colors
      args: [serve]
      readinessProbe: {tcpSocket: {port: 8082}, periodSeconds: 1}
`

// TestProbesReachTheApplication checks that kubelet probes the application, not the sidecar.
func TestProbesReachTheApplication(t *testing.T) {
	apply(t, probedManifests)
	status := func(pod, path string) string {
		return strings.TrimSpace(run(t, "-n", "colors", "get", "pod", pod, "-o", "jsonpath={"+path+"}"))
	}
	const ready = `.status.conditions[?(@.type=="Ready")].status`
	const restarts = `.status.containerStatuses[0].restartCount`
	eventually(t, 30*time.Second, "good is ready", func() error {
		if got := status("good", ready); got != "True" {
			return fmt.Errorf("Ready is %q", got)
		}
		return nil
	})
	eventually(t, 30*time.Second, "failing is restarted", func() error {
		if got := status("failing", restarts); got == "0" || got == "" {
			return fmt.Errorf("restarts: %q", got)
		}
		return nil
	})
	eventually(t, 30*time.Second, "silent runs and is not ready", func() error {
		events := run(t, "-n", "colors", "get", "events", "--field-selector",
			"involvedObject.name=silent,reason=Unhealthy", "-o", "jsonpath={.items[*].message}")
		if !strings.Contains(events, "Readiness probe failed") || status("silent", ready) != "False" {
			return fmt.Errorf("Ready is %q, events: %q", status("silent", ready), events)
		}
		return nil
	})
	if got := status("good", restarts); got != "0" {
		t.Errorf("good was restarted %s times", got)
	}
	t.Run("a frozen sidecar is noticed and restarted", func(t *testing.T) {
		signal(t, "STOP", proxiesAt(t, status("good", ".status.podIP"))...)
		frozen := time.Now()
		eventually(t, 20*time.Second, "good is not ready", func() error {
			if got := status("good", ready); got != "False" {
				return fmt.Errorf("Ready is %q", got)
			}
			return nil
		})
		t.Logf("not ready after %s", time.Since(frozen).Round(time.Second))
		eventually(t, 2*time.Minute, "the sidecar is restarted", func() error {
			const sidecar = `.status.initContainerStatuses[?(@.name=="envoy")].restartCount`
			if got := status("good", sidecar) + " " + status("good", ready); strings.HasPrefix(got, "0") || !strings.HasSuffix(got, " True") {
				before, _ := kubectl(t.Context(), "-n", "colors", "logs", "good", "-c", "envoy", "--previous", "--tail=5")
				return fmt.Errorf("restarts and readiness: %q; log before the last restart:\n%s", got, before)
			}
			return nil
		})
		t.Logf("ready again after %s", time.Since(frozen).Round(time.Second))
	})
}

// proxiesAt returns the process IDs of the Envoys of a pod.
func proxiesAt(t *testing.T, address string) []string {
	t.Helper()
	return strings.Fields(mustOnNode(t, "sh", "-c",
		`for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = envoy ] && grep -qwF "$0" $p/net/fib_trie && echo ${p#/proc/}; done; true`,
		address))
}
