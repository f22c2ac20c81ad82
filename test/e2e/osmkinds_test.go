package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/dialect/osm"
)

// kindsFolder has an object of each kind of Open Service Mesh in each version, as it is published, and base.yaml.
const kindsFolder = "internal/cli/testdata/kinds"

// TestEachKindOfOpenServiceMesh applies the objects to a cluster. The API server returns each of them in each version
// that is served, and unchanged in its own, and the control plane writes its status.
func TestEachKindOfOpenServiceMesh(t *testing.T) {
	dropSettings(t)
	base, err := os.ReadFile(filepath.Join(root, kindsFolder, "base.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	for text := range strings.SplitSeq(string(base), "\n---\n") {
		if !strings.Contains(text, "kind: Deployment\n") { // their images do not exist
			others = append(others, text)
		}
	}
	apply(t, strings.Join(others, "\n---\n"))
	definitions, err := osm.Dialect{}.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range definitions {
		for _, version := range crd.Spec.Versions {
			t.Run(crd.Spec.Names.Kind+"/"+version.Name, func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join(root, kindsFolder, crd.Spec.Names.Kind+"."+version.Name+".yaml"))
				if err != nil {
					t.Fatal(err)
				}
				var published unstructured.Unstructured
				if err := yaml.Unmarshal(text, &published.Object); err != nil {
					t.Fatal(err)
				}
				// Without the annotations that an older version leaves for what the newer ones do not have.
				if _, err := kubectlInput(t.Context(), string(text), "delete", "--ignore-not-found", "-f", "-"); err != nil {
					t.Fatal(err)
				}
				apply(t, string(text))
				get := func(version, path string) string {
					t.Helper()
					return run(t, "-n", published.GetNamespace(), "get",
						fmt.Sprintf("%s.%s.%s", crd.Spec.Names.Plural, version, crd.Spec.Group), published.GetName(), "-o", path)
				}
				var applied unstructured.Unstructured
				if err := yaml.Unmarshal([]byte(get(version.Name, "yaml")), &applied.Object); err != nil {
					t.Fatal(err)
				}
				for field, value := range published.Object {
					if field == "metadata" || field == "spec" && len(value.(map[string]any)) == 0 {
						continue
					}
					if got, want := asYAML(t, applied.Object[field]), asYAML(t, value); got != want {
						t.Errorf("%s of the object in the cluster is\n%s\nand was applied as\n%s", field, got, want)
					}
				}
				for _, v := range crd.Spec.Versions {
					eventually(t, 20*time.Second, "status in "+v.Name, func() error {
						status := get(v.Name, `jsonpath={.status.currentStatus}{.status.conditions[?(@.type=="Served")].status}`)
						if status == "" {
							return fmt.Errorf("there is none:\n%s", get(v.Name, "yaml"))
						}
						return nil
					})
				}
			})
		}
	}
}

func asYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
