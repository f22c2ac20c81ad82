package e2e

import (
	"context"
	"testing"
	"time"
)

// outsideManifests run a server outside any mesh.
const outsideManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: outside}
---
apiVersion: v1
kind: Service
metadata: {namespace: outside, name: outside}
spec:
  selector: {app: outside}
  ipFamilyPolicy: PreferDualStack
  ports:
    - {name: a, port: 8080}
    - {name: b, port: 7070}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: outside, name: outside}
spec:
  selector: {matchLabels: {app: outside}}
  template:
    metadata: {labels: {app: outside}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: a
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=outside]
          readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
        - name: b
          image: anymesh.dev/colors
          args: [serve, --listen=:7070, --version=outside]
          readinessProbe: {httpGet: {path: /, port: 7070}, periodSeconds: 1}
        - name: caller
          image: anymesh.dev/colors
          args: [drive, --listen=:6060, --rate=0]
          readinessProbe: {httpGet: {path: /healthz, port: 6060}, periodSeconds: 1}
`

func waitReady(t *testing.T, namespace, what string) {
	t.Helper()
	if _, err := kubectl(t.Context(), "-n", namespace, "rollout", "status", what, "--timeout=180s"); err != nil {
		pods, _ := kubectl(t.Context(), "-n", namespace, "get", "pods", "-o", "wide")
		events, _ := kubectl(t.Context(), "-n", namespace, "get", "events")
		logs, _ := kubectl(t.Context(), "-n", namespace, "logs", what, "--all-containers", "--prefix", "--tail=20")
		earlier, _ := kubectl(t.Context(), "-n", namespace, "logs", what, "-c", "envoy", "--previous", "--tail=20")
		t.Fatalf("%v\n%s\n%s\n%s\nbefore the last restart of the sidecar:\n%s", err, pods, events, logs, earlier)
	}
}

// waitEstablished waits until CustomResourceDefinitions are established. kubectl wait fails for one without conditions.
func waitEstablished(t *testing.T, names ...string) {
	t.Helper()
	eventually(t, 3*time.Minute, "the CustomResourceDefinitions are established", func() error {
		_, err := kubectl(t.Context(), append([]string{"wait", "--for=condition=Established", "--timeout=60s", "crd"},
			names...)...)
		return err
	})
}

// contextOf returns a context for cleanup functions: it is not canceled when the test ends.
func contextOf(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }
