package presubmit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"anymesh.dev/anymesh/model"
)

// Every constant of type Code has an entry in the table that generates its documentation.
func TestEveryCodeHasDocumentation(t *testing.T) {
	constants := map[model.Code]string{}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "model/codes.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			for i, name := range spec.Names {
				value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				constants[model.Code(value)] = name.Name
			}
		}
		return true
	})
	if len(constants) == 0 {
		t.Fatal("found no constants")
	}
	explained := map[model.Code]bool{}
	for _, info := range model.Codes {
		if explained[info.Code] {
			t.Errorf("duplicate entry %s", info.Code)
		}
		explained[info.Code] = true
		if constants[info.Code] == "" {
			t.Errorf("%s: no constant with this value", info.Code)
		}
		if info.Meaning == "" || info.Remedy == "" {
			t.Errorf("%s: meaning or remedy is missing", info.Code)
		}
		if s := info.Severity; s != model.Error && s != model.Warning && s != model.Info {
			t.Errorf("%s: invalid severity %q", info.Code, s)
		}
	}
	for code, name := range constants {
		if !explained[code] {
			t.Errorf("%s (%s) is not in the table Codes", code, name)
		}
	}
}
