package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// TestRouteObjectsAreAccepted makes the API server validate the objects of all golden cases of providers. Their schemas
// are the CRDs of Gateway API and of Contour; the rules for Ingresses are those of Kubernetes.
func TestRouteObjectsAreAccepted(t *testing.T) {
	apply(t, readManifests(t, filepath.Join(moduleDir(t, "", "sigs.k8s.io/gateway-api"), "config/crd/standard"),
		filepath.Join(root, "internal/trait/testdata/crds")))
	apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	waitEstablished(t, "httproutes.gateway.networking.k8s.io", "listenersets.gateway.networking.k8s.io",
		"httpproxies.projectcontour.io")
	cases, err := filepath.Glob(filepath.Join(root, "internal/trait/testdata/*.txtar"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases, %v", err)
	}
	objects := 0
	for _, name := range cases {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			by, isResult := strings.CutPrefix(f.Name, "results/")
			count := strings.Count(string(f.Data), "\nkind: ")
			if !isResult || count == 0 {
				continue
			}
			objects += count
			if _, err := kubectlInput(t.Context(), string(f.Data), "create", "--dry-run=server", "--validate=strict", "-f",
				"-"); err != nil {
				t.Errorf("%s, provider %s: %v", filepath.Base(name), by, err)
			}
		}
	}
	if objects < 50 {
		t.Errorf("the API server validated only %d objects", objects)
	}
}

// moduleDir returns the folder of a Go module that a module in a folder here requires.
func moduleDir(t *testing.T, folder, module string) string {
	t.Helper()
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = folder
	out, err := command.Output()
	if err != nil {
		t.Fatalf("folder of the module %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

// readManifests returns the CRDs in folders.
func readManifests(t *testing.T, folders ...string) string {
	t.Helper()
	var all []string
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no manifests: %v", folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "\nkind: CustomResourceDefinition\n") {
				all = append(all, string(text))
			}
		}
	}
	return strings.Join(all, "\n---\n")
}

// manifestsOf returns objects as the input of kubectl.
func manifestsOf(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var out strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n" + string(text))
	}
	return out.String()
}

// clusterReader reads the objects of the cluster at the time of each call.
type clusterReader struct {
	t      *testing.T
	client dynamic.Interface
}

var _ provider.Reader = clusterReader{}

func newClusterReader(t *testing.T) clusterReader {
	t.Helper()
	client, err := dynamic.NewForConfig(lab.config)
	if err != nil {
		t.Fatal(err)
	}
	return clusterReader{t, client}
}

// List implements provider.Reader.
func (r clusterReader) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	list, err := r.client.Resource(resource).Namespace(namespace).List(r.t.Context(), metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

// Get implements provider.Reader.
func (r clusterReader) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	object, err := r.client.Resource(resource).Namespace(namespace).Get(r.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return object
}

// Has implements provider.Reader.
func (r clusterReader) Has(kind schema.GroupVersionKind) bool {
	list, err := lab.kube.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
	return err == nil && slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool {
		return a.Kind == kind.Kind
	})
}
