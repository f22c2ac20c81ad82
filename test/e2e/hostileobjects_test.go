package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Numbers of routes and backends of an object: about as many as fit into an object of etcd, 1.5 MiB.
const manyRoutes, manyBackends = 8000, 19000

const hostileLabel = "test"

// manyBroken is the number of broken objects. Their conditions are written at a limited rate.
const manyBroken = 2000

// TestHostileObjects creates objects as large as they can be, and very many broken ones, and deletes and restores a
// CRD. Each object gets its condition, no request fails, and the control plane is not restarted.
func TestHostileObjects(t *testing.T) {
	onlyLong(t)
	control := podOf(t, "anymesh-system", "app.kubernetes.io/name=anymesh")
	steadyCalls{"colors", "front", []string{colorURL}, []string{"red", "blue"}}.during(t, func() {
		t.Cleanup(func() { deleteHostile(t) })
		createLarge(t)
		callLarge(t)
		createBroken(t)
		deleteHostile(t)
		restoreCRD(t)
	})
	unharmed(t, control)
}

// hostileObject returns an App Mesh object of the colors mesh.
func hostileObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "appmesh.k8s.aws/v1beta2", "kind": kind,
		"metadata": map[string]any{"namespace": "colors", "name": name, "labels": map[string]any{hostileLabel: "hostile"}},
		"spec":     spec,
	}}
}

func listenerOn(port int) []any {
	return []any{map[string]any{"portMapping": map[string]any{"port": int64(port), "protocol": "http"}}}
}

func createLarge(t *testing.T) {
	t.Helper()
	var routes, backends []any
	for i := range manyRoutes {
		routes = append(routes, map[string]any{"name": fmt.Sprint("r", i), "httpRoute": map[string]any{
			"match": map[string]any{"prefix": fmt.Sprint("/", i)},
			"action": map[string]any{"weightedTargets": []any{
				map[string]any{"virtualNodeRef": map[string]any{"name": "color-red"}, "weight": int64(1)},
			}},
		}})
	}
	for i := range manyBackends {
		backends = append(backends, map[string]any{"virtualService": map[string]any{
			"virtualServiceRef": map[string]any{"name": fmt.Sprint("s", i)},
		}})
	}
	create(t, "virtualrouters", hostileObject("VirtualRouter", "large", map[string]any{"listeners": listenerOn(8080), "routes": routes}))
	create(t, "virtualservices", hostileObject("VirtualService", "large", map[string]any{
		"awsName":  "large.colors.svc.cluster.local",
		"provider": map[string]any{"virtualRouter": map[string]any{"virtualRouterRef": map[string]any{"name": "large"}}},
	}))
	create(t, "virtualnodes", hostileObject("VirtualNode", "large", map[string]any{
		"podSelector": map[string]any{"matchLabels": map[string]any{"app": "large"}},
		"listeners":   listenerOn(8080), "backends": backends,
		"serviceDiscovery": map[string]any{"dns": map[string]any{"hostname": "large.colors.svc.cluster.local"}},
	}))
	for object, reason := range map[string]string{"virtualrouters": "", "virtualnodes": "ReferenceNotFound"} {
		eventually(t, 30*time.Second, object+"/large has a condition", func() error {
			if reason == "" {
				return hasCondition(t, object, "colors", "large", "True", "Served")
			}
			return hasCondition(t, object, "colors", "large", "False", reason)
		})
	}
}

// callLarge lets front reach the service with very many routes, and calls its last route.
func callLarge(t *testing.T) {
	t.Helper()
	patch := func(operation string) {
		run(t, "-n", "colors", "patch", "virtualnode.appmesh.k8s.aws", "front", "--type=json", "-p", operation)
	}
	patch(`[{"op": "add", "path": "/spec/backends/0", "value": {"virtualService": {"virtualServiceRef": {"name": "large"}}}}]`)
	defer patch(`[{"op": "remove", "path": "/spec/backends/0"}]`)
	url := fmt.Sprintf("http://large.colors.svc.cluster.local:8080/%d", manyRoutes-1)
	eventually(t, 30*time.Second, "the last route is served", func() error {
		if counts := callsFrom(t, "front", url, 10); counts["red"] != 10 {
			return fmt.Errorf("%v", counts)
		}
		return nil
	})
}

func create(t *testing.T, resource string, o *unstructured.Unstructured) {
	t.Helper()
	if _, err := appMesh(t, resource, "colors").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// createBroken creates services whose router does not exist.
func createBroken(t *testing.T) {
	t.Helper()
	services := appMesh(t, "virtualservices", "colors")
	var group errgroup.Group
	group.SetLimit(16)
	for i := range manyBroken {
		group.Go(func() error {
			_, err := services.Create(t.Context(), hostileObject("VirtualService", fmt.Sprint("broken-", i), map[string]any{
				"awsName":  fmt.Sprintf("broken-%d.colors.svc.cluster.local", i),
				"provider": map[string]any{"virtualRouter": map[string]any{"virtualRouterRef": map[string]any{"name": "nobody"}}},
			}), metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprint("broken-", manyBroken-1)
	eventually(t, time.Minute, last+" has a condition", func() error {
		return hasCondition(t, "virtualservices", "colors", last, "False", "ReferenceNotFound")
	})
}

// deleteHostile deletes the objects of this test.
func deleteHostile(t *testing.T) {
	t.Helper()
	for _, resource := range []string{"virtualservices", "virtualrouters", "virtualnodes"} {
		objects := appMesh(t, resource, "colors")
		ofTest := metav1.ListOptions{LabelSelector: hostileLabel + "=hostile"}
		if err := objects.DeleteCollection(contextOf(t), metav1.DeleteOptions{}, ofTest); err != nil {
			t.Error(err)
		}
		eventually(t, time.Minute, resource+" are deleted", func() error {
			left, err := objects.List(contextOf(t), ofTest)
			if err == nil && len(left.Items) > 0 {
				err = fmt.Errorf("%d are left", len(left.Items))
			}
			return err
		})
	}
}

// restoreCRD deletes a CRD and creates it again: the control plane serves its objects as before.
func restoreCRD(t *testing.T) {
	t.Helper()
	run(t, "delete", "crd", "virtualgateways.appmesh.k8s.aws", "--timeout=180s")
	if counts := callsFrom(t, "front", colorURL, 50); counts["red"]+counts["blue"] != 50 {
		t.Errorf("calls without the CRD: %v", counts)
	}
	run(t, "apply", "--server-side", "-f", filepath.Join(root, "charts/anymesh/crds/appmesh.k8s.aws_virtualgateways.yaml"))
	waitEstablished(t, "virtualgateways.appmesh.k8s.aws")
	apply(t, lateGateway)
	eventually(t, 90*time.Second, "the VirtualGateway has a condition", func() error {
		return hasCondition(t, "virtualgateways", "colors", "late", "True", "Served")
	})
}

const lateGateway = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualGateway
metadata: {namespace: colors, name: late}
spec:
  podSelector: {matchLabels: {app: late}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
`
