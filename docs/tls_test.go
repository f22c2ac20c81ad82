package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
)

// base are the objects that the examples need.
const base = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: shop}, spec: {namespaceSelector: {}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: shop, name: cart}
spec: {provider: {virtualNode: {virtualNodeRef: {name: cart}}}}
---
`

var (
	tlsExample = regexp.MustCompile("(?s)<!-- lint: (\\w+) -->\n```yaml\n(.*?)```")
	tlsValues  = regexp.MustCompile("(?s)```yaml\n(appmesh:.*?)```")
)

// TestExamplesOfTLS checks that the manifests of the page have no findings with its Helm values.
func TestExamplesOfTLS(t *testing.T) {
	page, err := os.ReadFile("tls.md")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	for _, found := range tlsValues.FindAllStringSubmatch(string(page), -1) {
		var part struct{ AppMesh map[string]any }
		if err := yaml.Unmarshal([]byte(found[1]), &part); err != nil {
			t.Fatal(err)
		}
		for name, value := range part.AppMesh {
			values[name] = value
		}
	}
	settings, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	if len(values) != 2 {
		t.Errorf("the page has values %s, want sds and acm", settings)
	}
	examples := tlsExample.FindAllStringSubmatch(string(page), -1)
	if len(examples) != 4 {
		t.Errorf("the page has %d examples, want 4", len(examples))
	}
	for _, found := range examples {
		t.Run(found[1], func(t *testing.T) {
			files, err := manifest.Read([]string{"-"}, strings.NewReader(base+found[2]))
			if err != nil {
				t.Fatal(err)
			}
			report, err := lint.Run(files, lint.Options{
				Namespace: "default",
				Settings:  dialect.Settings{Values: map[string]json.RawMessage{"appmesh": settings}},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				t.Error(f.Finding)
			}
			if len(files.Documents) < 3 {
				t.Errorf("only %d documents", len(files.Documents))
			}
		})
	}
}
