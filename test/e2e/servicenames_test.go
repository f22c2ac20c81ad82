package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// ownerManifests are a mesh with two teams, and the service of the team that owns the name.
const ownerManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: Mesh
metadata: {name: teams}
spec: {namespaceSelector: {matchLabels: {mesh: teams}}, egressFilter: {type: DROP_ALL}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: rogue, labels: {mesh: teams}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: owner, labels: {mesh: teams, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: rogue, name: pay}
spec: {awsName: pay.owner.svc.cluster.local}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: owner, name: pay}
spec:
  podSelector: {matchLabels: {app: pay}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: pay.owner.svc.cluster.local}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: owner, name: shop}
spec:
  podSelector: {matchLabels: {app: shop}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: shop.owner.svc.cluster.local}}
  backends: [{virtualService: {virtualServiceRef: {namespace: owner, name: pay}}}]
---
{apiVersion: v1, kind: Service, metadata: {namespace: owner, name: pay}, spec: {selector: {app: pay}, ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: owner, name: shop}, spec: {selector: {app: shop}, ports: [{port: 8080}]}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: owner, name: pay, labels: {app: pay}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: anymesh.dev/colors, args: [serve, "--listen=:8080", --version=pay]}]
---
apiVersion: v1
kind: Pod
metadata: {namespace: owner, name: shop, labels: {app: shop}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: anymesh.dev/colors, args: [drive, "--listen=:8080", --rate=0]}]
`

// ownerService is created last: the other VirtualService is older.
const ownerService = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: owner, name: pay}
spec: {awsName: pay.owner.svc.cluster.local, provider: {virtualNode: {virtualNodeRef: {name: pay}}}}
`

// TestNameOfAnotherNamespace takes the name of a service with an older VirtualService in another namespace: the name is
// served for nobody until the mesh binds it to the namespace of its owner.
func TestNameOfAnotherNamespace(t *testing.T) {
	apply(t, ownerManifests)
	older := run(t, "-n", "rogue", "get", "virtualservice.appmesh.k8s.aws", "pay", "-o", "jsonpath={.metadata.creationTimestamp}")
	eventually(t, 10*time.Second, "creation times differ", func() error {
		// Times have a precision of a second.
		if created, err := time.Parse(time.RFC3339, older); err != nil || time.Since(created) < time.Second {
			return fmt.Errorf("created at %s, %w", older, err)
		}
		return nil
	})
	apply(t, ownerService)
	run(t, "-n", "owner", "wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s")
	call := func() (outcome, error) {
		return callFromIn(t.Context(), "owner", "shop", "http://pay.owner.svc.cluster.local:8080/")
	}
	t.Run("the owner's is not served", func(t *testing.T) {
		wantCondition(t, "owner", "False", "NameConflict", "VirtualService rogue/pay")
		wantCondition(t, "rogue", "", "NameConflict", "VirtualService owner/pay")
		o, err := call()
		if err := want(o, err, o.Version == "", "no response of a workload"); err != nil {
			t.Error(err)
		}
	})
	t.Run("the mesh binds the name", func(t *testing.T) {
		run(t, "annotate", "mesh.appmesh.k8s.aws", "teams", "anymesh.dev/service-namespaces=*.owner.svc.cluster.local=owner")
		wantCondition(t, "rogue", "False", "NameReserved", "to namespace owner")
		wantCondition(t, "owner", "True", "", "")
		eventually(t, 10*time.Second, "the owner's is served", func() error {
			o, err := call()
			return want(o, err, o.Version == "pay", "the response of pay")
		})
	})
}

// wantCondition waits until the VirtualService pay of a namespace has a condition VirtualServiceActive with a status,
// unless that is empty, and a condition with a reason and a text.
func wantCondition(t *testing.T, namespace, status, reason, text string) {
	t.Helper()
	eventually(t, 15*time.Second, "condition of VirtualService "+namespace+"/pay", func() error {
		got, err := kubectl(t.Context(), "-n", namespace, "get", "virtualservice.appmesh.k8s.aws", "pay", "-o",
			"jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{\"\\n\"}{end}")
		if err != nil {
			return err
		}
		if !strings.Contains(got, "VirtualServiceActive="+status) || !strings.Contains(got, reason) || !strings.Contains(got, text) {
			return fmt.Errorf("want status %q, reason %q and text %q, got %s", status, reason, text, got)
		}
		return nil
	})
}
