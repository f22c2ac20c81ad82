// Package imagemap says which local program, or which OCI archive, stands for which container image.
//
// In: YAML files of users. Out: for an image name the Image to run, or nothing. A later file wins over an earlier one;
// within a file an exact name wins over a pattern, and a longer pattern over a shorter one.
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
	// host path of the image itself; all other fields win over what it says
	OCIArchive string `json:"ociArchive,omitempty"`
	// host path; shown in the container as /usr/local/bin/<its name>
	Program string `json:"program,omitempty"`
	// the image's CMD: used unless the Pod gives args (or command)
	Args       []string `json:"args,omitempty"`
	Env        []string `json:"env,omitempty"`        // NAME=value
	WorkingDir string   `json:"workingDir,omitempty"` // in the container
	// host folder to be seen as the root; empty: the host's own
	Root  string            `json:"root,omitempty"`
	User  *int64            `json:"user,omitempty"`  // uid unless the Pod says otherwise
	Files map[string]string `json:"files,omitempty"` // container path -> host path, read-only
}

// Entry is an Image with its name or pattern and the file that it comes from.
type Entry struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Image
}

// Map is the sum of all files.
type Map struct{ files [][]Entry }

type document struct {
	Images map[string]Image `json:"images"`
}

// Load reads files in order. Relative host paths are relative to the file's folder. It is an error if a file has
// unknown fields, or names a program, root or file that does not exist, or an OCI archive without an image for this
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
			return errors.New("ociArchive and root: only one of them can be the container's root")
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

// Open opens the image in the OCI archive, as it is now: it may be replaced while the sandbox runs.
func (i Image) Open() (*ociimage.Image, error) { return ociimage.Open(i.OCIArchive, runtime.GOARCH) }

// Find gives the image for a name as a Pod writes it. Entries match the whole name, the name without its digest or tag,
// and both without the default registry; patterns are those of path.Match, except that '*' as the last character also
// matches '/'.
func (m *Map) Find(image string) (Image, bool) {
	forms := spellings(image)
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

// spellings lists the forms under which an entry may name the image, the fullest first.
func spellings(image string) []string {
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

// Entries lists all entries, those that win first.
func (m *Map) Entries() []Entry {
	var out []Entry
	for i := len(m.files) - 1; i >= 0; i-- {
		out = append(out, m.files[i]...)
	}
	return out
}
