package appmesh_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"golang.org/x/tools/txtar"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

var update = flag.Bool("update", false, "rewrite model.yaml and findings.txt of the cases in testdata")

// TestCases runs each testdata/*.txtar: objects.yaml is translated with the optional settings.yaml. The output is
// model.yaml and findings.txt.
func TestCases(t *testing.T) {
	for _, path := range caseFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			c := readCase(t, path)
			m, findings := appmesh.Dialect{Settings: c.settings}.Translate(c.objects)
			got := map[string][]byte{"model.yaml": asYAML(t, m), "findings.txt": asText(findings)}
			if *update {
				c.rewrite(t, path, got)
				return
			}
			for name, text := range got {
				if want := c.section(name); !bytes.Equal(text, want) {
					t.Errorf("%s: got\n%s\nwant\n%s", name, text, want)
				}
			}
		})
	}
}

type testCase struct {
	archive  *txtar.Archive
	settings appmesh.Settings
	objects  []client.Object
}

func caseFiles(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return paths
}

func readCase(t testing.TB, path string) testCase {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := testCase{archive: archive}
	if err := yaml.UnmarshalStrict(c.section("settings.yaml"), &c.settings); err != nil {
		t.Fatal(err)
	}
	c.objects = decode(t, c.section("objects.yaml"))
	return c
}

func (c testCase) section(name string) []byte {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func (c testCase) rewrite(t *testing.T, path string, generated map[string][]byte) {
	t.Helper()
	var kept []txtar.File
	for _, f := range c.archive.Files {
		if generated[f.Name] == nil {
			kept = append(kept, f)
		}
	}
	for _, name := range []string{"model.yaml", "findings.txt"} {
		kept = append(kept, txtar.File{Name: name, Data: generated[name]})
	}
	c.archive.Files = kept
	if err := os.WriteFile(path, txtar.Format(c.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// decode strictly decodes the documents of a YAML stream.
func decode(t testing.TB, text []byte) []client.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{api.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []client.Object
	for _, doc := range bytes.Split(text, []byte("---\n")) {
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		object, _, err := decoder.Decode(append([]byte("#\n"), doc...), nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		objects = append(objects, object.(client.Object))
	}
	return objects
}

// decodeManifests decodes manifests. The default of apiVersion is the API of the dialect.
func decodeManifests(t testing.TB, manifests []string) []client.Object {
	t.Helper()
	var documents []string
	for _, text := range manifests {
		if !strings.Contains(text, "apiVersion") {
			text = strings.Replace(text, "{kind", "{apiVersion: appmesh.k8s.aws/v1beta2, kind", 1)
		}
		documents = append(documents, text)
	}
	return decode(t, []byte(strings.Join(documents, "\n---\n")))
}

// decodeByAge is decodeManifests with objects that are each a minute younger than the one before.
func decodeByAge(t testing.TB, manifests []string) []client.Object {
	t.Helper()
	objects := decodeManifests(t, manifests)
	for i, o := range objects {
		o.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)))
	}
	return objects
}

func asYAML(t testing.TB, v any) []byte {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func asText(findings []model.Finding) []byte {
	var b bytes.Buffer
	for _, f := range findings {
		b.WriteString(f.String() + "\n")
	}
	if b.Len() == 0 {
		return []byte{}
	}
	return b.Bytes()
}
