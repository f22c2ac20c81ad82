package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The samples of the design document, in document order.
const (
	sampleMeshNamed = iota
	sampleServiceNamed
	sampleNodeNamed
	sampleRouter
	sampleNodeBackends
	sampleServiceRouter
	sampleServiceNode
	sampleMeshSelector
	sampleNodePods
)

func samples(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "api/appmesh/v1beta2/testdata/samples.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(text), "\n---\n")
	if len(all) != sampleNodePods+1 {
		t.Fatalf("%d samples", len(all))
	}
	return all
}

func specField(t *testing.T, manifest string, path ...string) string {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &o); err != nil {
		t.Fatal(err)
	}
	value, _, _ := unstructured.NestedString(o, append([]string{"spec"}, path...)...)
	return value
}

// storedObject returns an object as the API server would store it.
func storedObject(t *testing.T, manifest string) string {
	t.Helper()
	out, err := kubectlInput(t.Context(), manifest, "create", "--dry-run=server", "-o", "yaml", "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// patchSample adds fields that the sample omits.
func patchSample(t *testing.T, resource, name, spec string) {
	t.Helper()
	run(t, "-n", "my-app-ns", "patch", resource+".appmesh.k8s.aws", name, "--type=merge", "-p", `{"spec":`+spec+`}`)
}

// TestDesignDocument checks that every sample of the API design document can be applied unchanged and behaves as
// documented.
func TestDesignDocument(t *testing.T) {
	all := samples(t)
	t.Run("explicit Mesh name", func(t *testing.T) {
		if got := specField(t, storedObject(t, all[sampleMeshNamed]), "awsName"); got != "my-cluster-mesh" {
			t.Errorf("awsName is %q", got)
		}
	})
	apply(t, designNamespaces+"---\n"+all[sampleMeshSelector])
	if got := run(t, "get", "mesh.appmesh.k8s.aws", "global", "-o", "jsonpath={.spec.awsName}"); got != "global" {
		t.Errorf("default awsName of the mesh: %q", got)
	}
	t.Run("names", func(t *testing.T) { testDesignNames(t, all) })

	apply(t, all[sampleNodeNamed])
	apply(t, all[sampleNodeBackends])
	apply(t, all[sampleRouter])
	apply(t, all[sampleServiceRouter])
	apply(t, all[sampleServiceNode])
	patchSample(t, "virtualnode", "node-v1", `{"podSelector":{"matchLabels":{"app":"node-v1"}},
		"listeners":[{"portMapping":{"port":9080,"protocol":"http"}}],"serviceDiscovery":{"dns":{"hostname":"node-v1.my-app-ns.svc.cluster.local"}}}`)
	apply(t, designObjects)
	patchSample(t, "virtualnode", "my-app-node", `{"backends":[`+strings.Join([]string{
		backendJSON("my-app-ns", "my-app-svc"), backendJSON("my-app-ns", "svc-a"), backendJSON("my-app-ns", "svc-b"),
		backendJSON("my-other-ns", "far"),
	}, ",")+`]}`)
	var pods struct{ Spec json.RawMessage }
	if err := yaml.Unmarshal([]byte(all[sampleNodePods]), &pods); err != nil {
		t.Fatal(err)
	}
	patchSample(t, "virtualnode", "my-app-node", string(pods.Spec))
	apply(t, designDeployment)
	waitReady(t, "my-app-ns", "deployment/my-app-node-deployment")

	t.Run("pods", testDesignPods)
	t.Run("traffic", testDesignTraffic)
	t.Run("overlaps", testDesignOverlaps)
}

func backendJSON(namespace, name string) string {
	return fmt.Sprintf(`{"virtualService":{"virtualServiceRef":{"namespace":%q,"name":%q}}}`, namespace, name)
}

// testDesignNames checks explicit names and the documented default names.
func testDesignNames(t *testing.T, all []string) {
	for _, sample := range []int{sampleServiceNamed, sampleNodeNamed, sampleRouter} {
		want := specField(t, all[sample], "awsName")
		unnamed := strings.ReplaceAll(all[sample], "  awsName: "+want+"\n", "  {}\n")
		if sample == sampleRouter {
			unnamed = strings.ReplaceAll(all[sample], "  awsName: "+want+"\n", "")
		}
		unnamed = strings.TrimSuffix(unnamed, "  awsName: "+want)
		for _, manifest := range []string{all[sample], unnamed} {
			kept := storedObject(t, manifest)
			if got := specField(t, kept, "awsName"); got != want {
				t.Errorf("awsName %q, want %q, of\n%s", got, want, manifest)
			}
			if got := specField(t, kept, "meshRef", "name"); got != "global" {
				t.Errorf("mesh %q of\n%s", got, manifest)
			}
		}
	}
	stranger := strings.ReplaceAll(all[sampleNodeNamed], "namespace: my-app-ns", "namespace: default")
	_, err := kubectlInput(t.Context(), stranger, "create", "--dry-run=server", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "failed to find matching mesh for namespace: default") {
		t.Errorf("namespace that no mesh selects: %v", err)
	}
}

// testDesignPods checks that each of the five pods has a sidecar for the VirtualNode that selects it.
func testDesignPods(t *testing.T) {
	pods := podsOf(t, "my-app-ns", "app=my-app-node")
	if len(pods) != 5 {
		t.Fatalf("%d pods, want 5", len(pods))
	}
	for _, pod := range pods {
		var nodes []string
		for _, c := range pod.Spec.InitContainers {
			for _, e := range c.Env {
				if e.Name == "APPMESH_VIRTUAL_NODE_NAME" {
					nodes = append(nodes, e.Value)
				}
			}
		}
		if want := []string{"mesh/global/virtualNode/my-app-node_my-app-ns"}; !slices.Equal(nodes, want) {
			t.Errorf("pod %s has node IDs %v, want %v", pod.Name, nodes, want)
		}
	}
}

// testDesignTraffic checks that a VirtualRouter sends only /auth to node-v1, that a VirtualNode provider gets all
// requests of its service, and that references work across namespaces.
func testDesignTraffic(t *testing.T) {
	pod := strings.Fields(run(t, "-n", "my-app-ns", "get", "pods", "-l", "app=my-app-node", "-o",
		"jsonpath={.items[*].metadata.name}"))[0]
	for _, test := range []struct {
		url     string
		status  int
		version string
	}{
		{"http://svc-b.my-app-ns.svc.cluster.local:9080/auth", 200, "v1"},
		{"http://svc-b.my-app-ns.svc.cluster.local:9080/auth/login", 200, "v1"},
		{"http://svc-b.my-app-ns.svc.cluster.local:9080/other", 404, ""},
		{"http://svc-a.my-app-ns.svc.cluster.local:9080/other", 200, "v2"},
		{"http://my-app-svc.my-app-ns:9080/auth", 200, "v1"},
		{"http://my-app-svc.my-app-ns:9080/", 404, ""},
		{"http://far.my-other-ns:9080/other", 200, "v1"},
	} {
		t.Run(test.url, func(t *testing.T) {
			eventually(t, 15*time.Second, test.url, func() error {
				raw, err := lab.kube.CoreV1().RESTClient().Get().Namespace("my-app-ns").Resource("pods").Name(pod+":80").
					SubResource("proxy").Suffix("call").Param("url", test.url).DoRaw(t.Context())
				if err != nil {
					return err
				}
				var o outcome
				err = json.Unmarshal(raw, &o)
				return want(o, err, o.Status == test.status && o.Version == test.version,
					fmt.Sprintf("%d %s", test.status, test.version))
			})
		})
	}
}

// testDesignOverlaps checks that overlapping selectors are reported on the objects.
func testDesignOverlaps(t *testing.T) {
	apply(t, `
apiVersion: appmesh.k8s.aws/v1beta2
kind: Mesh
metadata: {name: global-too}
spec: {namespaceSelector: {matchLabels: {mesh: my-mesh}}}
`)
	eventually(t, 10*time.Second, "the younger mesh reports the overlap", func() error {
		return hasCondition(t, "meshes", "", "global-too", "False", "MultipleMeshes")
	})
	const node = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: my-app-ns, name: my-app-node-too}
spec: {podSelector: {matchLabels: {app: my-app-node}}}
`
	_, err := kubectlInput(t.Context(), node, "create", "-f", "-")
	if err == nil ||
		!strings.Contains(err.Error(),
			"found multiple matching meshes for namespace: my-app-ns, expecting 1 but found 2: global,global-too") {
		t.Errorf("VirtualNode selected by two meshes: %v", err)
	}
	run(t, "delete", "mesh.appmesh.k8s.aws", "global-too")
	eventually(t, 10*time.Second, "one mesh is left", func() error {
		_, err := kubectlInput(t.Context(), node, "create", "--dry-run=server", "-f", "-")
		return err
	})
	apply(t, node)
	eventually(t, 10*time.Second, "the younger VirtualNode reports the overlap", func() error {
		return hasCondition(t, "virtualnodes", "my-app-ns", "my-app-node-too", "False", "SelectorConflict")
	})
	pod := fmt.Sprintf(podManifest, "my-app-ns", "torn", "my-app-node", "")
	eventually(t, 10*time.Second, "a pod selected by both is rejected", func() error {
		_, err := kubectlInput(t.Context(), pod, "create", "--dry-run=server", "-f", "-")
		if err == nil ||
			!strings.Contains(err.Error(),
				"found multiple matching VirtualNodes for pod my-app-ns/torn: my-app-node,my-app-node-too") {
			return fmt.Errorf("answer: %w", err)
		}
		return nil
	})
}
