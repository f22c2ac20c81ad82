package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// Case is a file of test/cases.
type Case struct {
	// Name is the file name without folder and extension.
	Name    string
	Objects []client.Object
	Lines   []Line
	// Shown maps the workloads whose configuration the case includes to resource names; no names means all resources.
	Shown map[string][]string

	path    string
	archive *txtar.Archive
}

// Names of a case's sections.
const (
	objectsSection  = "objects.yaml"
	requestsSection = "requests.txt"
	modelSection    = "model.yaml"
	findingsSection = "findings.txt"
	envoySection    = "envoy/%s.yaml"
)

// ReadCase reads a case. Errors name the file and the line.
func ReadCase(path string) (*Case, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	c := &Case{
		Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, archive: archive,
		Shown: map[string][]string{},
	}
	for line := range strings.Lines(string(archive.Comment)) {
		if shown, ok := strings.CutPrefix(line, "# envoy: "); ok {
			words := strings.Fields(shown)
			c.Shown[words[0]] = words[1:]
		}
	}
	if c.Objects, err = decode(c.section(objectsSection)); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, objectsSection, err)
	}
	if c.Lines, err = parseLines(string(c.section(requestsSection))); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, requestsSection, err)
	}
	return c, nil
}

func (c *Case) section(name string) []byte {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// Write replaces the generated sections of the file and keeps the hand-written ones.
func (c *Case) Write(generated []txtar.File) error {
	c.archive.Files = slices.DeleteFunc(c.archive.Files, func(f txtar.File) bool {
		return f.Name != objectsSection && f.Name != requestsSection
	})
	c.archive.Files = append(c.archive.Files, generated...)
	return os.WriteFile(c.path, txtar.Format(c.archive), 0o644)
}

// Generated returns the generated sections of the file.
func (c *Case) Generated() []txtar.File {
	var out []txtar.File
	for _, f := range c.archive.Files {
		if f.Name != objectsSection && f.Name != requestsSection {
			out = append(out, f)
		}
	}
	return out
}

// decode parses a YAML stream of objects of known kinds and rejects unknown fields.
func decode(text []byte) ([]client.Object, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{api.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []client.Object
	for doc := range bytes.SplitSeq(text, []byte("---\n")) {
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		// the comment prevents the decoder from detecting flow style as JSON
		object, _, err := decoder.Decode(append([]byte("#\n"), doc...), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, doc)
		}
		objects = append(objects, object.(client.Object))
	}
	return objects, nil
}
