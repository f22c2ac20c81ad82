package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

func appMesh(t *testing.T, resource, namespace string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(lab.config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{
		Group: "appmesh.k8s.aws", Version: "v1beta2", Resource: resource,
	}).Namespace(namespace)
}

// routesOf returns the routes of the n-th edit of router color. Weights and timeouts differ in each edit; every
// second edit adds routes with all kinds of match conditions. The last route matches every request.
func routesOf(n int) string {
	target := func(red, blue int) string {
		return fmt.Sprintf(`"action":{"weightedTargets":[{"virtualNodeRef":{"name":"color-red"},"weight":%d},{"virtualNodeRef":{"name":"color-blue"},"weight":%d}]}`, red, blue)
	}
	const retry = `"retryPolicy":{"maxRetries":2,"perRetryTimeout":{"unit":"s","value":2},"httpRetryEvents":["server-error","gateway-error"],"tcpRetryEvents":["connection-error"]}`
	var routes []string
	extra := []string{
		`{"prefix":"/","headers":[{"name":"user-agent","match":{"prefix":"Go"}}]}`,
		`{"prefix":"/","headers":[{"name":"x-shade","match":{"exact":"dark"},"invert":true}]}`,
		`{"prefix":"/","method":"GET"}`,
		`{"path":{"regex":"/|/[a-z]+"}}`,
		`{"prefix":"/","queryParameters":[{"name":"shade"}]}`,
	}
	if n%2 == 1 {
		for i := range n%len(extra) + 1 {
			routes = append(routes, fmt.Sprintf(`{"name":"extra-%d","priority":%d,"httpRoute":{"match":%s,%s,%s}}`,
				i, (n+i)%7, extra[i], target((n+i)%4, 1), retry))
		}
	}
	routes = append(routes, fmt.Sprintf(`{"name":"color","httpRoute":{"match":{"prefix":"/"},%s,%s,"timeout":{"perRequest":{"unit":"s","value":%d}}}}`,
		target(3, n%4+1), retry, 5+n%10))
	return `{"spec":{"routes":[` + strings.Join(routes, ",") + `]}}`
}

// TestRouteEditsLoseNothing checks that a hundred edits of a router, in bursts, fail no request.
func TestRouteEditsLoseNothing(t *testing.T) {
	routers := appMesh(t, "virtualrouters", "colors")
	before, err := routers.Get(t.Context(), "color", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	routes, _, _ := unstructured.NestedSlice(before.Object, "spec", "routes")
	t.Cleanup(func() {
		old, _ := json.Marshal(map[string]any{"spec": map[string]any{"routes": routes}})
		if _, err := routers.Patch(contextOf(t), "color", types.MergePatchType, old,
			metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	const burst = 10
	underSteadyLoad(t, func() {
		for n := range 100 {
			edited, err := routers.Patch(t.Context(), "color", types.MergePatchType, []byte(routesOf(n)),
				metav1.PatchOptions{})
			if err != nil {
				t.Fatalf("edit %d: %v", n, err)
			}
			if n%burst != burst-1 {
				continue
			}
			eventually(t, 10*time.Second, fmt.Sprintf("edit %d is served", n), func() error {
				return checkServed(t, routers, "color", edited.GetGeneration())
			})
		}
	})
}

// checkServed checks that status reports a generation of an object with condition True.
func checkServed(t *testing.T, in dynamic.ResourceInterface, name string, generation int64) error {
	t.Helper()
	o, err := in.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	if seen < generation || len(conditions) == 0 {
		return fmt.Errorf("observed generation %d, want %d", seen, generation)
	}
	for _, c := range conditions {
		if c := c.(map[string]any); c["status"] != "True" {
			return fmt.Errorf("condition %v", c)
		}
	}
	return nil
}

// TestReplacedPodsLoseNothing replaces twenty pods of color, by rolling restarts and by single deletions. No request
// may fail.
func TestReplacedPodsLoseNothing(t *testing.T) {
	both := []string{"color-red", "color-blue"}
	settled := func() {
		for _, name := range both {
			waitReady(t, "colors", "deployment/"+name)
		}
	}
	t.Cleanup(func() {
		for _, name := range both {
			if _, err := kubectl(contextOf(t), "-n", "colors", "scale", "deployment", name,
				"--replicas=1"); err != nil {
				t.Error(err)
			}
			if _, err := kubectl(contextOf(t), "-n", "colors", "rollout", "status", "deployment/"+name,
				"--timeout=180s"); err != nil {
				t.Error(err)
			}
		}
	})
	for _, name := range both {
		run(t, "-n", "colors", "scale", "deployment", name, "--replicas=2")
	}
	settled()
	underSteadyLoad(t, func() {
		for range 3 {
			run(t, "-n", "colors", "rollout", "restart", "deployment/color-red", "deployment/color-blue")
			settled()
		}
		for range 4 {
			for _, version := range []string{"red", "blue"} {
				for _, pod := range podsOf(t, "colors", "version="+version) {
					if err := lab.kube.CoreV1().Pods("colors").Delete(t.Context(), pod.Name,
						metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
					break
				}
			}
			settled()
		}
	})
}

// brokenManifests contain one error each, beside and in place of the objects of color. Objects that admission rejects
// are not among them.
const brokenManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {namespace: colors, name: bad-weights}
spec:
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  routes:
    - name: bad
      httpRoute:
        match: {prefix: /}
        action: {weightedTargets: [{virtualNodeRef: {name: color-red}, weight: 0}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {namespace: colors, name: bad-reference}
spec:
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  routes:
    - name: bad
      httpRoute:
        match: {prefix: /}
        action: {weightedTargets: [{virtualNodeRef: {name: nobody}, weight: 1}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: colors, name: bad-name}
spec:
  awsName: color.colors.svc.cluster.local
  provider: {virtualRouter: {virtualRouterRef: {name: bad-weights}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: bad-node}
spec:
  awsName: color-red_colors
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: nowhere.colors.svc.cluster.local}}
`

// TestBrokenObjectsLoseNothing creates and deletes broken objects. Each one gets a condition, and no request fails.
func TestBrokenObjectsLoseNothing(t *testing.T) {
	reasons := map[string]string{
		"virtualrouters/bad-weights":   "ZeroWeight",
		"virtualrouters/bad-reference": "ReferenceNotFound",
		"virtualservices/bad-name":     "NameConflict",
		"virtualnodes/bad-node":        "NameConflict",
	}
	underSteadyLoad(t, func() {
		for round := range 3 {
			if _, err := kubectlInput(t.Context(), brokenManifests, "apply", "-f", "-"); err != nil {
				t.Fatal(err)
			}
			for object, reason := range reasons {
				resource, name, _ := strings.Cut(object, "/")
				eventually(t, 10*time.Second, fmt.Sprintf("round %d: %s has reason %s", round, object, reason), func() error {
					return hasCondition(t, resource, "colors", name, "False", reason)
				})
			}
			if _, err := kubectlInput(t.Context(), brokenManifests, "delete", "--wait=true", "-f", "-"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// hasCondition checks that an object has a condition with a status and a reason.
func hasCondition(t *testing.T, resource, namespace, name, status, reason string) error {
	t.Helper()
	o, err := appMesh(t, resource, namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["status"] == status && c["reason"] == reason {
			return nil
		}
	}
	return fmt.Errorf("want a condition with status %s and reason %s, got %v", status, reason, conditions)
}
