package house

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "anymesh.dev/anymesh/"

// rule says which of our packages one of them, or one group, may import.
type rule struct {
	pkg     string
	imports []string
}

// mayImport says which of our packages each of our packages may import; tests may import more. "x/..." stands for x and all below it.
// Packages are listed from the middle to the rim: one may only name those above it, which the test checks too.
var mayImport = []rule{
	{"model", nil},
	{"api/...", []string{"api/..."}},
	{"charts", nil},
	{"charts/dashboard", nil},
	{"docs/findings", nil},
	{"sidecar", []string{"model"}},
	{"internal/identity", nil},
	{"internal/socket", nil},
	{"internal/grpcserver", []string{"internal/socket"}},
	{"internal/xds", []string{"internal/socket", "internal/grpcserver"}},
	{"internal/capture", nil},
	{"internal/rawpatch", nil},
	{"internal/agent", []string{"internal/identity"}},
	{"internal/incremental", nil},
	{"internal/live", []string{"model", "internal/incremental"}},
	{"internal/dialect/...", []string{"api/...", "model", "internal/incremental", "internal/live"}},
	{"internal/dialect", []string{"internal/incremental", "internal/live", "internal/dialect/..."}},
	{"internal/driver/...", []string{"model", "sidecar"}},
	{"internal/flow", []string{"model", "internal/dialect", "internal/incremental", "internal/live"}},
	{"internal/deliver", []string{"model", "sidecar", "internal/flow", "internal/xds"}},
	{"internal/queue", nil},
	{"internal/status", []string{"model", "internal/flow", "internal/queue"}},
	{"internal/release", []string{"api/...", "internal/flow", "internal/queue"}},
	{"internal/inject", []string{"model", "sidecar", "internal/rawpatch"}},
	{"internal/admission", []string{"api/...", "internal/dialect/...", "internal/rawpatch"}},
	{"internal/install", []string{"api/...", "charts"}},
	{"internal/controlplane", []string{
		"api/...", "model", "sidecar", "internal/socket", "internal/identity", "internal/xds", "internal/dialect", "internal/dialect/...",
		"internal/flow", "internal/deliver", "internal/status", "internal/release", "internal/inject", "internal/admission",
	}},
	{"internal/console", nil},
	{"internal/manifest", []string{"api/...", "model"}},
	{"internal/lint", []string{"api/...", "docs/findings", "model", "sidecar", "internal/dialect", "internal/dialect/...", "internal/flow", "internal/manifest", "internal/console"}},
	{"internal/words", []string{"model"}},
	{"internal/lookup", []string{"model", "internal/flow"}},
	{"internal/explain", []string{"model", "internal/flow", "internal/console", "internal/lookup", "internal/words"}},
	{"internal/describe", []string{"model", "internal/flow", "internal/console", "internal/lookup", "internal/words"}},
	{"internal/graph", []string{"model", "internal/flow", "internal/console", "internal/words"}},
	{"internal/inspect", []string{"internal/xds", "internal/console", "internal/words"}},
	{"internal/check", []string{"api/...", "model", "internal/install", "internal/xds", "internal/flow", "internal/inspect", "internal/console"}},
	{"internal/cli", []string{
		"api/...", "charts", "docs/findings", "model", "sidecar", "internal/controlplane", "internal/install", "internal/agent", "internal/capture", "internal/identity",
		"internal/console", "internal/manifest", "internal/lint", "internal/explain", "internal/describe", "internal/graph", "internal/inspect",
		"internal/lookup", "internal/check", "internal/dialect", "internal/dialect/...", "internal/flow", "internal/xds",
	}},
	{"cmd/anymesh", []string{"internal/cli", "internal/driver/..."}},
}

// free are folders that may import what they like: programs about the product, not parts of it.
var free = []string{"bench/...", "docs/...", "examples/...", "test/...", "hack/..."}

// pkg is what the go command says about a package.
type pkg struct {
	ImportPath   string
	Standard     bool
	Doc          string
	Imports      []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

func TestImportsPointOneWay(t *testing.T) {
	for i, r := range mayImport {
		for _, other := range r.imports {
			if !slices.ContainsFunc(mayImport[:i], func(above rule) bool { return above.pkg == other }) && other != r.pkg {
				t.Errorf("the table lets %s import %s, which does not stand above it", r.pkg, other)
			}
		}
	}
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if covers(free, name) {
			continue
		}
		r, ok := ruleOf(name)
		if !ok {
			t.Errorf("package %s is not in the table: say what it may import", name)
			continue
		}
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, module)
			if isOurs && !covers(r.imports, ours) {
				t.Errorf("%s imports %s, and may import only %v", name, ours, r.imports)
			}
		}
	}
}

// ruleOf finds the rule of a package: its own, else that of its group.
func ruleOf(name string) (rule, bool) {
	i := slices.IndexFunc(mayImport, func(r rule) bool { return r.pkg == name })
	if i < 0 {
		i = slices.IndexFunc(mayImport, func(r rule) bool { return covers([]string{r.pkg}, name) })
	}
	if i < 0 {
		return rule{}, false
	}
	return mayImport[i], true
}

// A dialect that knew a driver, or the reverse, would break the promise that either can be exchanged.
func TestDialectsAndDriversDoNotKnowEachOther(t *testing.T) {
	for folder, forbidden := range map[string]string{"internal/dialect/...": "internal/driver/", "internal/driver/...": "internal/dialect"} {
		for _, p := range list(t, "-deps", "./"+folder) {
			if strings.HasPrefix(p.ImportPath, module+forbidden) {
				t.Errorf("%s needs %s", folder, p.ImportPath)
			}
		}
	}
}

func TestModelNeedsTheStandardLibraryOnly(t *testing.T) {
	for _, p := range list(t, "-deps", "./model") {
		if !p.Standard && p.ImportPath != module+"model" {
			t.Errorf("model needs %s", p.ImportPath)
		}
	}
}

func covers(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		root, all := strings.CutSuffix(p, "/...")
		return name == root || all && strings.HasPrefix(name, root+"/")
	})
}

// list asks the go command about packages of this module.
func list(t *testing.T, arguments ...string) []pkg {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Doc,Imports,GoFiles,TestGoFiles,XTestGoFiles"}, arguments...)...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v: %s", command, exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
