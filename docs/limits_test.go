package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestLimitsHaveRows checks that limits.md has a row for each exported constant Max… and …Timeout. If several packages
// have a limit of the same name, it has as many rows.
func TestLimitsHaveRows(t *testing.T) {
	page, declared := limits(), map[string][]string{}
	for _, root := range []string{"../internal", "../model", "../sidecar"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, name := range exportedLimits(file) {
				declared[name] = append(declared[name], path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(declared) < 30 {
		t.Fatalf("only %d limits are found", len(declared))
	}
	if strings.Contains(page, "``") {
		t.Error("a limit has no metric")
	}
	for name, files := range declared {
		if rows := strings.Count(page, "\n| "+name+" | "); rows < len(files) {
			t.Errorf("%s: declared in %v, but limits.md has %d rows; add them to docs/limits.go", name, files, rows)
		}
	}
}

// exportedLimits returns the names of the constants of a file that are limits.
func exportedLimits(file *ast.File) []string {
	var names []string
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					if strings.HasPrefix(n.Name, "Max") || n.IsExported() && strings.HasSuffix(n.Name, "Timeout") {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
