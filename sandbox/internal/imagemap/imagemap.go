// Package imagemap maps container images to local programs or OCI archives.
//
// In: YAML files of users. Out: the Image for an image name, or nothing. A later file takes precedence over an
// earlier one; in a file, an exact name takes precedence over a pattern, and a longer pattern over a shorter one.
package imagemap

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/sandbox/internal/ociimage"
)

// Image is one entry.
type Image struct {
	// host path of the image archive; all other fields override its configuration
	OCIArchive string `json:"ociArchive,omitempty"`
	// host path; mounted in the container as /usr/local/bin/NAME
	Program string `json:"program,omitempty"`
	// CMD of the image: used unless the Pod sets args or command
	Args       []string `json:"args,omitempty"`
	Env        []string `json:"env,omitempty"`        // NAME=value
	WorkingDir string   `json:"workingDir,omitempty"` // in the container
	// host folder used as the root; empty: the root of the host
	Root  string            `json:"root,omitempty"`
	User  *int64            `json:"user,omitempty"`  // UID; the Pod can override it
	Files map[string]string `json:"files,omitempty"` // container path -> host path, read-only
}

// Entry is an Image with its name or pattern and its file.
type Entry struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Image
}

// Map contains the entries of all files.
type Map struct{ files [][]Entry }

type document struct {
	Images map[string]Image `json:"images"`
}

// Load reads files in order. Relative host paths are relative to the folder of the file. It returns an error for
// unknown fields, for programs, roots or files that do not exist, and for OCI archives without an image for this
// machine.
func Load(files ...string) (*Map, error) {
	m := &Map{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("image map: %w", err)
		}
		entries, err := parse(b, f)
		if err != nil {
			return nil, fmt.Errorf("image map %s: %w", f, err)
		}
		m.files = append(m.files, entries)
	}
	return m, nil
}

func parse(b []byte, file string) ([]Entry, error) {
	var d document
	if err := yaml.UnmarshalStrict(b, &d); err != nil {
		return nil, err
	}
	var out []Entry
	for name, img := range d.Images {
		if _, err := path.Match(name, ""); err != nil {
			return nil, fmt.Errorf("images[%q]: %w", name, err)
		}
		if err := img.resolve(filepath.Dir(file)); err != nil {
			return nil, fmt.Errorf("images[%q]: %w", name, err)
		}
		out = append(out, Entry{name, file, img})
	}
	sort.Slice(out, func(i, j int) bool {
		if len(out[i].Name) != len(out[j].Name) {
			return len(out[i].Name) > len(out[j].Name)
		}
		return out[i].Name < out[j].Name
	})
	return out, nil
}

func (i *Image) resolve(dir string) error {
	abs := func(p, field string, mustBeDir bool) (string, error) {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		info, err := os.Stat(p)
		if err != nil {
			return "", fmt.Errorf("%s: %w", field, err)
		}
		if mustBeDir && !info.IsDir() {
			return "", fmt.Errorf("%s: %s is not a folder", field, p)
		}
		return p, nil
	}
	var err error
	if i.Program != "" {
		if i.Program, err = abs(i.Program, "program", false); err != nil {
			return err
		}
	}
	if i.Root != "" {
		if i.Root, err = abs(i.Root, "root", true); err != nil {
			return err
		}
	}
	if i.OCIArchive != "" {
		if i.Root != "" {
			return errors.New("ociArchive and root cannot be combined: only one of them can be the root of the container")
		}
		if i.OCIArchive, err = abs(i.OCIArchive, "ociArchive", false); err != nil {
			return err
		}
		image, err := i.Open()
		if err != nil {
			return fmt.Errorf("ociArchive: %w", err)
		}
		image.Close()
	}
	for to, from := range i.Files {
		if !path.IsAbs(to) {
			return fmt.Errorf("files: %q: the container path must be absolute", to)
		}
		if i.Files[to], err = abs(from, "files["+to+"]", false); err != nil {
			return err
		}
	}
	for _, e := range i.Env {
		if !strings.Contains(e, "=") {
			return fmt.Errorf("env: %q: must be NAME=value", e)
		}
	}
	return nil
}

// Open opens the image in the current OCI archive, which may be replaced while the sandbox runs.
func (i Image) Open() (*ociimage.Image, error) { return ociimage.Open(i.OCIArchive, runtime.GOARCH) }

// Find returns the image for an image name of a Pod. Entries match the full name, the name without digest or tag, and
// both without the default registry. Patterns are those of path.Match, except that a trailing '*' also matches '/'.
func (m *Map) Find(image string) (Image, bool) {
	forms := nameVariants(image)
	for i := len(m.files) - 1; i >= 0; i-- {
		for _, exact := range []bool{true, false} {
			for _, e := range m.files[i] {
				if matches(e.Name, forms, exact) {
					return e.Image, true
				}
			}
		}
	}
	return Image{}, false
}

func matches(name string, forms []string, exact bool) bool {
	for _, f := range forms {
		if exact && name == f {
			return true
		}
		if exact {
			continue
		}
		if prefix, ok := strings.CutSuffix(name, "*"); ok && !strings.ContainsAny(prefix, `*?[\`) &&
			strings.HasPrefix(f, prefix) {
			return true
		}
		if ok, _ := path.Match(name, f); ok {
			return true
		}
	}
	return false
}

// nameVariants lists the names that an entry may use for the image, the longest first.
func nameVariants(image string) []string {
	out := []string{image}
	add := func(s string) {
		if s != out[len(out)-1] && s != "" {
			out = append(out, s)
		}
	}
	name, _, _ := strings.Cut(image, "@")
	add(name)
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		add(name[:i])
	}
	for _, s := range out[:len(out):len(out)] {
		for _, prefix := range []string{"docker.io/library/", "docker.io/"} {
			if short, ok := strings.CutPrefix(s, prefix); ok {
				add(short)
				break
			}
		}
	}
	return out
}

// Entries lists all entries in order of precedence.
func (m *Map) Entries() []Entry {
	var out []Entry
	for i := len(m.files) - 1; i >= 0; i-- {
		out = append(out, m.files[i]...)
	}
	return out
}
