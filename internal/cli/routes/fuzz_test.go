package routes_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/routes"
	"anymesh.dev/anymesh/internal/cli/terminal"
)

// FuzzPlan plans any manifests: it does not panic, equal files have equal findings, and each finding is about an object
// with a name.
func FuzzPlan(f *testing.F) {
	seeds, err := filepath.Glob("../*/testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	more, err := filepath.Glob("../testdata/*routes.txtar")
	if err != nil || len(more) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range append(seeds, more...) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".yaml") {
				f.Add(string(file.Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, second := findings(t, text), findings(t, text)
		if first != second {
			t.Errorf("two plans differ:\n%s\n%s", first, second)
		}
	})
}

// findings plans manifests, describes the Routes, and returns the findings as text.
func findings(t *testing.T, text string) string {
	t.Helper()
	files, err := manifest.Read([]string{manifest.Stdin}, strings.NewReader(text))
	if err != nil {
		t.Skip(err)
	}
	plan := routes.Of(files.Documents, "default")
	var out strings.Builder
	for _, f := range append(plan.Faults, plan.Findings()...) {
		if f.Object.Kind == "" || f.Object.Name == "" && f.Document == nil {
			t.Errorf("a finding about nothing: %s", f.Finding)
		}
		out.WriteString(f.String() + "\n")
	}
	for _, o := range plan.Routes() {
		if err := plan.Description(o, nil).Text(io.Discard, terminal.Style{}); err != nil {
			t.Error(err)
		}
	}
	return out.String()
}
