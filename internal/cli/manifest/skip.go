package manifest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
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

// isTemplate reports whether a file is a template: it has actions in names, or values of Helm outside of quotation
// marks, or is no valid YAML and has actions outside of them. An action in a quoted value is the text of something
// else, as an alert, unless the file is one of the templates of a chart.
func isTemplate(name string, text []byte, documents []*Document, invalid bool) bool {
	if slices.ContainsFunc(documents, func(d *Document) bool {
		return strings.Contains(d.Ref.Name+d.Ref.Namespace, "{{") || readsPlainHelmValue(d.node)
	}) {
		return true
	}
	ofChart := inChart(name)
	for line := range lines(text) {
		content := strings.TrimSpace(string(line))
		if strings.HasPrefix(content, "#") {
			continue
		}
		if at := comment.FindStringIndex(content); at != nil && !inQuotes(content[:at[0]]) {
			content = content[:at[0]]
		}
		before, _, has := strings.Cut(content, "{{")
		if ofChart && helmValue.MatchString(content) || invalid && has && !inQuotes(before) {
			return true
		}
	}
	return false
}

// readsPlainHelmValue reports whether a value without quotation marks reads values of Helm.
func readsPlainHelmValue(node *yaml.Node) bool {
	if node == nil {
		return false
	}
	const marked = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return node.Kind == yaml.ScalarNode && node.Style&marked == 0 && helmValue.MatchString(node.Value) ||
		slices.ContainsFunc(node.Content, readsPlainHelmValue)
}

// inChart reports whether a file is below the folder templates of a Helm chart.
func inChart(name string) bool {
	folder, err := filepath.Abs(name)
	if err != nil {
		return false
	}
	for folder = filepath.Dir(folder); folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if filepath.Base(folder) == "templates" {
			if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "Chart.yaml")); err == nil {
				return true
			}
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
