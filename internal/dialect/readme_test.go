package dialect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
)

// optional are the optional interfaces.
var optional = map[string]reflect.Type{
	"Admission":         reflect.TypeFor[dialect.Admission](),
	"Checks":            reflect.TypeFor[dialect.Checks](),
	"Configurable":      reflect.TypeFor[dialect.Configurable](),
	"DeletionWarnings":  reflect.TypeFor[dialect.DeletionWarnings](),
	"Conversions":       reflect.TypeFor[dialect.Conversions](),
	"Elsewhere":         reflect.TypeFor[dialect.Elsewhere](),
	"Finalizers":        reflect.TypeFor[dialect.Finalizers](),
	"Injection":         reflect.TypeFor[dialect.Injection](),
	"InjectionReasons":  reflect.TypeFor[dialect.InjectionReasons](),
	"Installed":         reflect.TypeFor[dialect.Installed](),
	"Keeping":           reflect.TypeFor[dialect.Keeping](),
	"Manifests":         reflect.TypeFor[dialect.Manifests](),
	"OptionalKinds":     reflect.TypeFor[dialect.OptionalKinds](),
	"PreferredFeatures": reflect.TypeFor[dialect.PreferredFeatures](),
	"OtherControllers":  reflect.TypeFor[dialect.OtherControllers](),
	"PodWorkloads":      reflect.TypeFor[dialect.PodWorkloads](),
	"ReadinessGates":    reflect.TypeFor[dialect.ReadinessGates](),
	"References":        reflect.TypeFor[dialect.References](),
	"Refusals":          reflect.TypeFor[dialect.Refusals](),
	"Roots":             reflect.TypeFor[dialect.Roots](),
	"SidecarSettings":   reflect.TypeFor[dialect.SidecarSettings](),
	"ShortNames":        reflect.TypeFor[dialect.ShortNames](),
	"Statuses":          reflect.TypeFor[dialect.Statuses](),
	"Transforms":        reflect.TypeFor[dialect.Transforms](),
	"WithoutAgent":      reflect.TypeFor[dialect.WithoutAgent](),
}

// contract is an interface of the package: its file and its own methods, in their order.
type contract struct {
	file    string
	methods []string
}

// contracts parses the exported interfaces of the package.
func contracts(t *testing.T) map[string]contract {
	t.Helper()
	out := map[string]contract{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, is := n.(*ast.GenDecl)
			if !is {
				return true
			}
			for _, s := range declared.Specs {
				spec, is := s.(*ast.TypeSpec)
				if !is {
					continue
				}
				defined, is := spec.Type.(*ast.InterfaceType)
				if !is {
					continue
				}
				if !spec.Name.IsExported() || declared.Doc == nil {
					t.Errorf("interface %s is not exported, or has no comment", spec.Name)
				}
				c := contract{file: name}
				for _, m := range defined.Methods.List {
					for _, id := range m.Names {
						c.methods = append(c.methods, id.Name)
					}
				}
				out[spec.Name.Name] = c
			}
			return true
		})
	}
	return out
}

// The README lists each optional interface with its file and its methods.
func TestReadmeListsInterfaces(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]contract{}
	row := regexp.MustCompile("(?m)^\\| [^|]+ \\| \\[`([A-Za-z]+)`\\]\\(([a-z]+\\.go)\\) \\| (.+) \\|$")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = contract{m[2], strings.Split(strings.Trim(m[3], "`"), "`, `")}
	}
	defined := contracts(t)
	delete(defined, "Dialect")
	for name, c := range defined {
		if !reflect.DeepEqual(listed[name], c) {
			t.Errorf("README.md has %+v for %s, want %+v", listed[name], name, c)
		}
	}
	for name := range listed {
		if _, is := defined[name]; !is {
			t.Errorf("README.md lists %s, which is not an interface of the package", name)
		}
	}
	if got := slices.Sorted(maps.Keys(optional)); !slices.Equal(got, slices.Sorted(maps.Keys(defined))) {
		t.Errorf("the test has the optional interfaces %v, the package %v", got, slices.Sorted(maps.Keys(defined)))
	}
}

// Each dialect asserts the optional interfaces that it implements, and has no method of one that it does not implement:
// a wrong signature would remove the feature without an error.
func TestDialectsAssertTheirInterfaces(t *testing.T) {
	defined := contracts(t)
	for _, d := range dialect.All() {
		asserted := assertedBy(t, d.Name())
		for name, is := range optional {
			implements := reflect.TypeOf(d).Implements(is)
			if slices.Contains(asserted, name) != implements {
				t.Errorf("dialect %s implements %s: %v; it asserts %v", d.Name(), name, implements, asserted)
			}
			for _, method := range defined[name].methods {
				if _, has := reflect.TypeOf(d).MethodByName(method); has && !implements {
					t.Errorf("dialect %s has the method %s, but does not implement %s", d.Name(), method, name)
				}
			}
		}
	}
}

// assertedBy returns the names of interfaces in `_ dialect.NAME = Dialect{}` in a folder.
func assertedBy(t *testing.T, folder string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("folder %s: %v", folder, err)
	}
	assertion := regexp.MustCompile(`(?m)^\s*(?:var )?_ dialect\.(\w+) += Dialect\{\}$`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range assertion.FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1])
		}
	}
	return out
}
