// Package cases reads the cases of its folder: txtar files with the objects of a mesh and what follows from them. There
// is a folder for each dialect. Package observe documents the sections.
//
// In: a file. Out: its objects, decoded strictly, and its sections.
package cases

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/l7mp"
	"anymesh.dev/anymesh/internal/dialect/osm"
)

// Case is the content of a file.
type Case struct {
	// Name is the file name without folder and extension.
	Name string
	// Comment is the text before the first section.
	Comment string
	Objects []client.Object
	// Settings are the settings of dialects; without the section, their defaults.
	Settings dialect.Settings

	path    string
	archive *txtar.Archive
}

// Hand-written sections. The others are generated.
const (
	objectsSection  = "objects.yaml"
	settingsSection = "settings.yaml"
	// RequestsSection has the requests.
	RequestsSection = "requests.txt"
)

//go:embed */*.txtar
var files embed.FS

// Names returns the names of the files of a dialect, or with "*" of all, as DIALECT/NAME.txtar.
func Names(dialect string) []string {
	names, err := fs.Glob(files, dialect+"/*.txtar")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("no cases of dialect %s: %v", dialect, err))
	}
	return names
}

// Read reads a file: with a relative path, one of Names. Errors name the file and the section.
func Read(path string) (*Case, error) {
	read := os.ReadFile
	if !filepath.IsAbs(path) {
		read = files.ReadFile
	}
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	archive := txtar.Parse(text)
	c := &Case{
		Name:    strings.TrimSuffix(filepath.Base(path), ".txtar"),
		Comment: string(archive.Comment), path: path, archive: archive,
	}
	if c.Objects, err = Decode(c.Section(objectsSection)); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, objectsSection, err)
	}
	if c.Settings, err = settings(c.Section(settingsSection)); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, settingsSection, err)
	}
	return c, nil
}

// settings parses the section, which has the form of the chart's values: trustDomain, and a value for each dialect.
func settings(text []byte) (dialect.Settings, error) {
	s := dialect.Settings{Values: map[string]json.RawMessage{}}
	if err := yaml.Unmarshal(text, &s.Values); err != nil {
		return s, err
	}
	if domain, ok := s.Values["trustDomain"]; ok {
		delete(s.Values, "trustDomain")
		return s, json.Unmarshal(domain, &s.TrustDomain)
	}
	return s, nil
}

// Section returns the content of a section, nil if the file has no such section.
func (c *Case) Section(name string) []byte {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// Generated returns the generated sections.
func (c *Case) Generated() []txtar.File {
	var out []txtar.File
	for _, f := range c.archive.Files {
		if !handWritten(f) {
			out = append(out, f)
		}
	}
	return out
}

// Write replaces the generated sections of the file, in the folder of the cases.
func (c *Case) Write(folder string, generated []txtar.File) error {
	c.archive.Files = slices.DeleteFunc(c.archive.Files, func(f txtar.File) bool { return !handWritten(f) })
	c.archive.Files = append(c.archive.Files, generated...)
	return os.WriteFile(filepath.Join(folder, c.path), txtar.Format(c.archive), 0o644)
}

func handWritten(f txtar.File) bool {
	return slices.Contains([]string{objectsSection, settingsSection, RequestsSection}, f.Name)
}

// Decode parses a YAML stream of objects of known kinds and rejects unknown fields.
func Decode(text []byte) ([]client.Object, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		api.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, discoveryv1.AddToScheme, gatewayv1.Install,
		l7mp.Dialect{}.AddToScheme, osm.Dialect{}.AddToScheme,
	} {
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
