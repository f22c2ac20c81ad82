package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// poolManifests define a service with awsCloudMap discovery. Its pods have the readiness gate of the App Mesh
// controller and respond with their own name. The Service only provides the DNS name.
const poolManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: colors, name: pool}
spec:
  awsName: pool.colors.svc.cluster.local
  provider: {virtualNode: {virtualNodeRef: {name: pool}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: pool}
spec:
  podSelector: {matchLabels: {app: pool}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {awsCloudMap: {namespaceName: colors.local, serviceName: pool}}
---
apiVersion: v1
kind: Service
metadata: {namespace: colors, name: pool}
spec:
  selector: {app: nobody}
  ports: [{port: 8080}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: pool}
spec:
  selector: {matchLabels: {app: pool}}
  template:
    metadata: {labels: {app: pool}}
    spec:
      terminationGracePeriodSeconds: 5
      readinessGates: [{conditionType: conditions.appmesh.k8s.aws/aws-cloudmap-healthy}]
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=$(POD)]
          env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`

const poolURL = "http://pool.colors.svc.cluster.local:8080/"

// TestCloudMapFollowsPods checks that pods behind awsCloudMap become ready, get traffic when they start, and lose no
// request when they are deleted.
func TestCloudMapFollowsPods(t *testing.T) {
	apply(t, poolManifests)
	t.Cleanup(func() { patchBackends(t, `[{"op":"remove","path":"/spec/backends/3"}]`) })
	patchBackends(t,
		`[{"op":"add","path":"/spec/backends/3","value":{"virtualService":{"virtualServiceRef":{"name":"pool"}}}}]`)
	waitReady(t, "colors", "deployment/pool")
	run(t, "-n", "colors", "scale", "deployment/pool", "--replicas=3")
	waitReady(t, "colors", "deployment/pool")
	eventually(t, 20*time.Second, "responses from all three pods", func() error {
		counts := callsFrom(t, "front", poolURL, 60)
		if len(counts) != 3 || len(failures(counts)) > 0 {
			return fmt.Errorf("responses: %v", counts)
		}
		return nil
	})

	deleted := strings.Fields(run(t, "-n", "colors", "get", "pods", "-l", "app=pool", "-o",
		"jsonpath={.items[*].metadata.name}"))[0]
	calls := startCalls(t, "front", poolURL, 6000)
	run(t, "-n", "colors", "delete", "pod", deleted)
	if lost := failures(calls.Wait(t)); len(lost) > 0 {
		t.Errorf("failures while a pod was deleted: %v", lost)
	}
	waitReady(t, "colors", "deployment/pool")
	eventually(t, 20*time.Second, "responses from the three current pods", func() error {
		counts := callsFrom(t, "front", poolURL, 60)
		if len(counts) != 3 || counts[deleted] > 0 || len(failures(counts)) > 0 {
			return fmt.Errorf("responses: %v", counts)
		}
		return nil
	})
	run(t, "-n", "colors", "scale", "deployment/pool", "--replicas=0")
	eventually(t, 20*time.Second, "the response for a target without pods", func() error {
		o, err := callFrom(t.Context(), "front", poolURL)
		if err == nil && (o.Status != 503 || !strings.Contains(o.Body+o.Error, "no healthy upstream")) {
			err = fmt.Errorf("got %+v", o)
		}
		return err
	})
}

// failures returns the outcomes that are not the response of a pod.
func failures(counts map[string]int) map[string]int {
	out := map[string]int{}
	for outcome, n := range counts {
		if !strings.HasPrefix(outcome, "pool-") {
			out[outcome] = n
		}
	}
	return out
}

func patchBackends(t *testing.T, patch string) {
	t.Helper()
	if _, err := kubectl(contextOf(t), "-n", "colors", "patch", "virtualnode.appmesh.k8s.aws", "front", "--type=json",
		"-p", patch); err != nil {
		t.Error(err)
	}
}
