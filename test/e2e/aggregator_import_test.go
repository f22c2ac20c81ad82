package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/api/aggregatecrds"
	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// karmadaRegistry is a registry, and a cluster without an agent, as Karmada has them.
const karmadaRegistry = `
apiVersion: search.karmada.io/v1alpha1
kind: ResourceRegistry
metadata: {name: imported}
spec:
  targetCluster: {clusterNames: [imported]}
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: imported}]
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: imported-edge}
spec: {syncMode: Pull}
`

// TestClusterImport takes over the clusters and registries of another control plane, which has the kinds of Karmada.
func TestClusterImport(t *testing.T) {
	c, err := sharedClusters()
	if err != nil {
		t.Fatal(err)
	}
	karmada, ours := c.files["c2"], c.files["c1"]
	serveRegistries(t, karmada)
	run := func(args ...string) string {
		t.Helper()
		out, err := anymesh(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	run("cluster", "join", "imported", "--kubeconfig", karmada, "--member-kubeconfig", c.files["c3"], "--labels", "team=shop")
	eventually(t, 20*time.Second, "objects of Karmada", func() error {
		_, err := c.kubectl(t, "c2", karmadaRegistry, "apply", "-f", "-")
		return err
	})
	t.Cleanup(func() {
		for _, cluster := range memberNames[:2] {
			for _, args := range [][]string{
				{"delete", "clusters.cluster.karmada.io", "imported", "imported-edge", "--ignore-not-found"},
				{"delete", "crd", "resourceregistries.search.karmada.io", "--ignore-not-found"},
				{"delete", "resourceregistries.aggregate.anymesh.dev", "imported", "--ignore-not-found"},
			} {
				_, _ = c.kubectl(t, cluster, "", args...) // The second control plane lacks some of the kinds.
			}
		}
	})
	type taken struct{ Kind, Name, Result string }
	for i, want := range []string{"created", "created", "unchanged"} {
		args := []string{"cluster", "import", "--from", karmada, "--kubeconfig", ours, "--output", "json"}
		if i == 0 {
			args = append(args, "--dry-run")
		}
		var all []taken
		if err := json.Unmarshal([]byte(run(args...)), &all); err != nil {
			t.Fatal(err)
		}
		expected := fmt.Sprintf("[{Cluster imported %[1]s} {Cluster imported-edge %[1]s} {ResourceRegistry imported %[1]s}]", want)
		if got := fmt.Sprint(all); got != expected {
			t.Errorf("run %d: %s, want %s", i, got, expected)
		}
	}
	eventually(t, 30*time.Second, "the imported cluster in a list", func() error {
		out, err := anymesh(t.Context(), "cluster", "list", "--kubeconfig", ours)
		if err == nil && !strings.Contains(out, "imported-edge") {
			err = fmt.Errorf("the list is\n%s", out)
		}
		return err
	})
	out, err := c.kubectl(t, "c1", "", "get", "resourceregistries.aggregate.anymesh.dev", "imported", "-o", "jsonpath={.spec}")
	want := `{"resourceSelectors":[{"apiVersion":"v1","kind":"ConfigMap","namespace":"imported"}],` +
		`"targetCluster":{"clusterNames":["imported"]}}`
	if err != nil || out != want {
		t.Errorf("the registry is %s, %v", out, err)
	}
}

// serveRegistries makes an API server serve Clusters, and ResourceRegistries in the group of Karmada.
func serveRegistries(t *testing.T, kubeconfig string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube, err := runtimeclient.New(config, runtimeclient.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	all, err := aggregatecrds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if crd.Spec.Group == searchv1.StorageGroupVersion.Group {
			crd.Spec.Group = searchv1.GroupVersion.Group
			crd.Name = crd.Spec.Names.Plural + "." + crd.Spec.Group
		}
		if err := kube.Create(t.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// kubectl runs the kubectl of the sandbox at a cluster.
func (c *clusters) kubectl(t *testing.T, cluster, input string, args ...string) (string, error) {
	return command(context.WithoutCancel(t.Context()), input, filepath.Join(lab.bin, "anymesh"),
		append([]string{"sandbox", "kubectl", "--name", c.name, "--cluster", cluster, "--"}, args...)...)
}
