package manifest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Skip is a file or a folder whose objects are not read.
type Skip struct {
	// Name is the file or the folder.
	Name   string     `json:"name"`
	Reason SkipReason `json:"reason"`
	// Files counts the files that are not read: of a folder, those with the extension of a manifest.
	Files int `json:"files"`
}

// SkipReason tells why a file or a folder is skipped.
type SkipReason string

// The reasons.
const (
	// SkipEmpty is a file without content.
	SkipEmpty SkipReason = "Empty"
	// SkipNoManifests is a folder without files that have the extension of a manifest.
	SkipNoManifests SkipReason = "NoManifests"
	// SkipNotKubernetes is a file with other content than Kubernetes objects.
	SkipNotKubernetes SkipReason = "NotKubernetes"
	// SkipTemplate is a file that is YAML only after a program has expanded its template.
	SkipTemplate SkipReason = "Template"
	// SkipChart is the folder of a Helm chart, SkipKustomize one with a kustomization: their files are parts of objects.
	SkipChart     SkipReason = "Chart"
	SkipKustomize SkipReason = "Kustomize"
)

// sourceFiles are the files that make a folder the input of another program.
var sourceFiles = map[string]SkipReason{
	"Chart.yaml": SkipChart, "kustomization.yaml": SkipKustomize, "kustomization.yml": SkipKustomize, "Kustomization": SkipKustomize,
}

// list returns the file itself, or the files below a folder. The folder may be a symbolic link. Folders whose name
// begins with a dot are skipped.
func (f *Files) list(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	var files []string
	skips := len(f.Skips)
	err = walk(name, func(path string, entry fs.DirEntry) error {
		reason, err := sourceFolder(path, entry)
		switch {
		case err != nil:
			return err
		case reason != "":
			skip := Skip{Name: filepath.Clean(path), Reason: reason}
			err := walk(path, func(path string, entry fs.DirEntry) error {
				if isManifest(path, entry) {
					skip.Files++
				}
				return nil
			})
			f.Skips = append(f.Skips, skip)
			if err != nil {
				return err
			}
			return fs.SkipDir
		case isManifest(path, entry):
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 && len(f.Skips) == skips {
		f.Skips = append(f.Skips, Skip{Name: filepath.Clean(name), Reason: SkipNoManifests})
	}
	return files, err
}

// walk visits a folder and all below it, except folders whose name begins with a dot.
func walk(name string, visit func(path string, entry fs.DirEntry) error) error {
	root := strings.TrimSuffix(name, "/") + "/"
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		}
		return visit(path, entry)
	})
}

// isManifest reports whether a file of a folder has the extension of a manifest.
func isManifest(path string, entry fs.DirEntry) bool {
	return !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path))
}

// sourceFolder reports that a folder is the input of another program.
func sourceFolder(path string, entry fs.DirEntry) (SkipReason, error) {
	if !entry.IsDir() {
		return "", nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", fmt.Errorf("reading manifests: %w", err)
	}
	for _, e := range entries {
		if reason := sourceFiles[e.Name()]; reason != "" && !e.IsDir() {
			return reason, nil
		}
	}
	return "", nil
}

// helmValue is an action of a Helm template that reads the built-in objects.
var helmValue = regexp.MustCompile(`\{\{[^}]*\.(?:Values|Release|Chart|Capabilities)\b`)

// isTemplate reports whether a text is a template: it reads values of Helm, has actions in names, or is no valid YAML
// and has actions outside of quotation marks.
func isTemplate(text []byte, documents []*Document, invalid bool) bool {
	if slices.ContainsFunc(documents, func(d *Document) bool {
		return strings.Contains(d.Ref.Name+d.Ref.Namespace, "{{")
	}) {
		return true
	}
	for line := range lines(text) {
		content := strings.TrimSpace(string(line))
		if strings.HasPrefix(content, "#") {
			continue
		}
		if at := comment.FindStringIndex(content); at != nil && !inQuotes(content[:at[0]]) {
			content = content[:at[0]]
		}
		before, _, has := strings.Cut(content, "{{")
		if helmValue.MatchString(content) || has && invalid && !inQuotes(before) {
			return true
		}
	}
	return false
}

// comment begins a comment after a value.
var comment = regexp.MustCompile(`\s#`)

// inQuotes reports whether a text ends within quotation marks.
func inQuotes(text string) bool {
	return strings.Count(text, `"`)%2 == 1 || strings.Count(text, "'")%2 == 1
}
