package presubmit

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// ends are the methods of testing.T that end the goroutine that calls them.
var ends = []string{"Fatal", "Fatalf", "FailNow", "Skip", "Skipf", "SkipNow"}

// testPackages finds functions that can end a test: they, or their receiver, have the test, and they call such
// functions. Types are those that the syntax shows; where it does not, all methods of a name in a package are one.
type testPackages struct {
	set *token.FileSet
	// declared are the functions of each folder, by name.
	declared map[string]map[string][]*ast.FuncDecl
	files    map[string]map[string]*ast.File
	// tested are the types with a test, as folder.name, and ending the functions that can end one, as
	// folder.RECEIVER.name.
	tested, ending map[string]bool
}

func parseTests(t *testing.T, all map[string][]byte) *testPackages {
	t.Helper()
	p := &testPackages{
		token.NewFileSet(), map[string]map[string][]*ast.FuncDecl{}, map[string]map[string]*ast.File{},
		map[string]bool{}, map[string]bool{},
	}
	for name, text := range all {
		if !strings.HasSuffix(name, "_test.go") && !strings.Contains(string(text), `"testing"`) {
			continue
		}
		file, err := parser.ParseFile(p.set, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		folder := path.Dir(name)
		if p.declared[folder] == nil {
			p.declared[folder], p.files[folder] = map[string][]*ast.FuncDecl{}, map[string]*ast.File{}
		}
		p.files[folder][name] = file
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
				p.declared[folder][f.Name.Name] = append(p.declared[folder][f.Name.Name], f)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.TypeSpec); is {
				if s, is := spec.Type.(*ast.StructType); is && hasTest(s.Fields) {
					p.tested[folder+"."+spec.Name.Name] = true
				}
			}
			return true
		})
	}
	for changed := true; changed; {
		changed = false
		for folder, functions := range p.declared {
			for name, all := range functions {
				for _, f := range all {
					key := folder + "." + receiverOf(f) + "." + name
					has := hasTest(f.Type.Params) || p.tested[folder+"."+receiverOf(f)]
					if has && !p.ending[key] && p.endsTest(folder, f.Body) != nil {
						p.ending[key], changed = true, true
					}
				}
			}
		}
	}
	return p
}

// endsTest returns a call in a statement that can end the test; nil if there is none. Functions with a *testing.T of
// their own, as those of t.Run, and goroutines do not count.
func (p *testPackages) endsTest(folder string, n ast.Node) *ast.CallExpr {
	var found *ast.CallExpr
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return false
		case *ast.FuncLit:
			return !hasTest(n.Type.Params)
		case *ast.CallExpr:
			if startsGoroutine(n) != nil {
				return false
			}
			if found == nil && p.ends(folder, n) {
				found = n
			}
		}
		return found == nil
	})
	return found
}

// ends reports whether a call can end the test.
func (p *testPackages) ends(folder string, call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return p.ending[folder+".."+f.Name]
	case *ast.SelectorExpr:
		if slices.Contains(ends, f.Sel.Name) {
			return isTest(f.X)
		}
		if x, is := f.X.(*ast.Ident); is && x.Obj == nil { // a package, or a variable of another file
			for other := range p.declared {
				if path.Base(other) == x.Name && p.ending[other+".."+f.Sel.Name] {
					return true
				}
			}
		}
		receiver := p.typeOf(folder, f.X)
		return slices.ContainsFunc(p.declared[folder][f.Sel.Name], func(d *ast.FuncDecl) bool {
			of := receiverOf(d)
			return of != "" && (receiver == "" || receiver == of) && p.ending[folder+"."+of+"."+f.Sel.Name]
		})
	}
	return false
}

// isTest reports whether an expression is that of a test by its name: t, tb, b, f, or a field of this name.
func isTest(x ast.Expr) bool {
	name := ""
	switch x := x.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	return slices.Contains([]string{"t", "tb", "b", "f", "T", "TB"}, name)
}

// startsGoroutine returns the function that a call runs in another goroutine: group.Go(f), time.AfterFunc(d, f) and
// http.HandlerFunc(f); nil for other calls.
func startsGoroutine(call *ast.CallExpr) ast.Expr {
	f, is := call.Fun.(*ast.SelectorExpr)
	if !is || len(call.Args) == 0 || !slices.Contains([]string{"Go", "AfterFunc", "HandlerFunc", "HandleFunc"}, f.Sel.Name) {
		return nil
	}
	return call.Args[len(call.Args)-1]
}

// strays lists the calls in goroutines that can end a test.
func (p *testPackages) strays() []string {
	var out []string
	for folder, files := range p.files {
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				var started ast.Node
				switch n := n.(type) {
				case *ast.GoStmt:
					started = n.Call
					if f, is := n.Call.Fun.(*ast.FuncLit); is {
						started = f.Body
					}
				case *ast.CallExpr:
					switch f := startsGoroutine(n).(type) {
					case *ast.FuncLit:
						started = f.Body
					case *ast.Ident:
						if p.ending[folder+".."+f.Name] {
							out = append(out, fmt.Sprintf("%s: %s can end the test in another goroutine", p.set.Position(n.Pos()), f.Name))
						}
					}
				}
				if started != nil {
					if call := p.endsTest(folder, started); call != nil {
						out = append(out, fmt.Sprintf("%s: this call in another goroutine can end the test", p.set.Position(call.Pos())))
					}
				}
				return true
			})
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// t.Fatal ends the goroutine that calls it. In another one than that of the test, the test goes on, and waits for what
// this goroutine should have sent until its timeout. Return an error, or call t.Error and return.
func TestOnlyTheGoroutineOfATestEndsIt(t *testing.T) {
	for _, s := range parseTests(t, sources(t)).strays() {
		t.Error(s)
	}
}

// The test above finds such calls in helpers, too.
func TestStrayEndsAreFound(t *testing.T) {
	const head = "package p\nimport \"testing\"\nfunc helper(t *testing.T) { inner(t) }\nfunc inner(t *testing.T) { t.Fatal() }\nfunc harmless(t *testing.T) { t.Error() }\n" +
		"type rig struct { t *testing.T }\nfunc (r *rig) method() { helper(r.t) }\ntype plain struct{}\nfunc (p plain) method() { helper(nil) }\n"
	for body, want := range map[string]bool{
		"go helper(t)":                                                  true,
		"go func() { helper(t) }()":                                     true,
		"go func() { if true { t.Fatalf(\"\") } }()":                    true,
		"g.Go(func() { x.method() })":                                   true,
		"http.HandlerFunc(func(w W, r R) { t.FailNow() })":              true,
		"time.AfterFunc(d, func() { helper(t) })":                       true,
		"go func() { harmless(t) }()":                                   false,
		"go func() { t.Run(\"\", func(t *testing.T) { helper(t) }) }()": false,
		"p := plain{}; go p.method()":                                   false,
		"r := &rig{}; go r.method()":                                    true,
		"helper(t); go harmless(t)":                                     false,
		"func() { helper(t) }()":                                        false,
	} {
		text := head + "func TestIt(t *testing.T) { " + body + " }\n"
		found := parseTests(t, map[string][]byte{"a/p_test.go": []byte(text)}).strays()
		if (len(found) > 0) != want {
			t.Errorf("%s: found %q", body, found)
		}
	}
}
