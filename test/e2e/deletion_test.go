package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// endingMesh has a gateway with a route in each of its two namespaces.
const endingMesh = `
{apiVersion: v1, kind: Namespace, metadata: {name: ending, labels: {mesh: ending}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ending-too, labels: {mesh: ending}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: ending}, spec: {namespaceSelector: {matchLabels: {mesh: ending}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualGateway
metadata: {namespace: ending, name: gateway}
spec: {namespaceSelector: {matchLabels: {mesh: ending}}, listeners: [{portMapping: {port: 8088, protocol: http}}]}
---
` + endingService + `---
apiVersion: appmesh.k8s.aws/v1beta2
kind: GatewayRoute
metadata: {namespace: ending, name: route}
spec:
  httpRoute:
    match: {prefix: /}
    action: {target: {virtualService: {virtualServiceRef: {namespace: ending-too, name: service}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: GatewayRoute
metadata: {namespace: ending-too, name: route}
spec:
  httpRoute:
    match: {prefix: /too}
    action: {target: {virtualService: {virtualServiceRef: {name: service}}}}
`

const endingService = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {namespace: ending-too, name: service}}
`

// A Mesh that is deleted tells what it waits for, takes no new members, and is deleted after its last member. The
// deletion of the gateway's namespace does not wait for the route in the other namespace.
func TestDeletionWaitsForMembers(t *testing.T) {
	apply(t, endingMesh)
	run(t, "delete", "meshes.appmesh.k8s.aws", "ending", "--wait=false")
	eventually(t, 15*time.Second, "the Mesh tells what it waits for", func() error {
		return waitsFor(t, "GatewayRoute ending-too/route, GatewayRoute ending/route, VirtualGateway ending/gateway, "+
			"VirtualService ending-too/service")
	})
	events := run(t, "get", "events", "--all-namespaces", "--field-selector", "reason=PendingMembersDeletion", "-o",
		"jsonpath={range .items[*]}{.type} {.involvedObject.name}{.regarding.name} {.message}{.note}{\"\\n\"}{end}")
	if !hasLine(events, "Warning ending", "VirtualGateway ending/gateway") {
		t.Errorf("events:\n%s", events)
	}
	late := strings.ReplaceAll(endingService, "name: service", "name: late")
	_, err := kubectlInput(t.Context(), late, "create", "-f", "-")
	if err == nil || !strings.Contains(err.Error(),
		"unable to create new content in mesh ending because it is being terminated") {
		t.Errorf("a new member: %v", err)
	}
	run(t, "delete", "namespace", "ending", "--timeout=180s")
	eventually(t, 15*time.Second, "the Mesh waits for the other namespace", func() error {
		return waitsFor(t, "GatewayRoute ending-too/route, VirtualService ending-too/service")
	})
	eventually(t, 15*time.Second, "the route of the deleted gateway has a finding", func() error {
		return hasCondition(t, "gatewayroutes", "ending-too", "route", "False", "ReferenceNotFound")
	})
	run(t, "-n", "ending-too", "delete", "gatewayroutes.appmesh.k8s.aws,virtualservices.appmesh.k8s.aws", "--all")
	run(t, "wait", "--for=delete", "meshes.appmesh.k8s.aws/ending", "--timeout=180s")
}

// waitsFor checks the condition of the Mesh that is being deleted.
func waitsFor(t *testing.T, members string) error {
	t.Helper()
	got := run(t, "get", "meshes.appmesh.k8s.aws", "ending", "-o",
		"jsonpath={.status.conditions[0].status} {.status.conditions[0].reason} {.status.conditions[0].message}")
	if want := "True PendingMembersDeletion waits until its members are deleted: " + members; got != want {
		return fmt.Errorf("condition %q", got)
	}
	return nil
}

// leavingNode has a route with two targets.
const leavingNode = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: leaving}
spec:
  podSelector: {matchLabels: {app: leaving}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: leaving.colors.svc.cluster.local}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {namespace: colors, name: leaving}
spec:
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  routes:
    - name: all
      httpRoute:
        match: {prefix: /}
        action: {weightedTargets: [{virtualNodeRef: {name: leaving}, weight: 9}, {virtualNodeRef: {name: color-red}, weight: 1}]}
`

// The deletion of a VirtualNode that a route names warns of it.
func TestDeletionWarnsOfRoutes(t *testing.T) {
	apply(t, leavingNode)
	const warning = "route all of VirtualRouter colors/leaving sends it 9 of 10 requests: they fail from now on; remove the target first"
	var seen warnings
	config := rest.CopyConfig(lab.config)
	config.WarningHandler = &seen
	kinds, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	nodes := kinds.Resource(schema.GroupVersionResource{
		Group: "appmesh.k8s.aws", Version: "v1beta2", Resource: "virtualnodes"}).Namespace("colors")
	remove := func(dryRun ...string) error {
		seen = nil
		if err := nodes.Delete(t.Context(), "leaving", metav1.DeleteOptions{DryRun: dryRun}); err != nil {
			return err
		}
		if !slices.Equal(seen, warnings{warning}) {
			return fmt.Errorf("warnings: %q", seen)
		}
		return nil
	}
	eventually(t, 20*time.Second, "the control plane knows the route", func() error { return remove(metav1.DryRunAll) })
	if err := remove(); err != nil {
		t.Error(err)
	}
}

// warnings are the texts of the warnings that an API server sent.
type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }
