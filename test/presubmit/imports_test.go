package presubmit

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

// rule lists the allowed imports of a package or a group of packages.
type rule struct {
	pkg     string
	imports []string
}

// mayImport lists the allowed imports of each package; tests may import more. "x/..." means x and all packages below
// it. A rule may only name packages of earlier rules, which the test checks.
var mayImport = append(slices.Clone(proxyImports), []rule{
	{"model", nil},
	{"model/requests", []string{"model"}},
	{"internal/truncate", nil},
	{"internal/spelling", nil},
	{"api/...", []string{"api/..."}},
	{"charts", nil},
	{"charts/dashboard", nil},
	{"charts/valuesschema", nil},
	{"charts/alerts", nil},
	{"charts/valuesdoc", nil},
	{"docs/findings", nil},
	{"sidecar", []string{"model"}},
	{"internal/ratelimit", nil},
	{"internal/timerslack", nil},
	{"internal/identity", []string{"model", "internal/ratelimit", "internal/timerslack"}},
	{"internal/aggregate/version", nil},
	{"internal/aggregate/cache", []string{"internal/aggregate/version"}},
	{"internal/aggregate/membertest", nil},
	{"internal/aggregate/rewrite", nil},
	{"api/aggregatecrds", nil},
	{"internal/fleet", []string{"api/...", "internal/truncate"}},
	{"internal/connlimit", []string{"internal/ratelimit"}},
	{"internal/serverlimit", nil},
	{"internal/aggregate", []string{
		"api/...", "internal/connlimit", "internal/serverlimit", "internal/fleet", "internal/aggregate/version", "internal/aggregate/cache",
		"internal/aggregate/rewrite",
	}},
	{"internal/delivery/socket", nil},
	{"internal/memlimit", nil},
	{"internal/delivery/grpcserver", []string{
		"internal/h2frame",
		"internal/connlimit", "internal/timerslack", "internal/truncate", "internal/delivery/socket",
	}},
	{"internal/delivery/xds/clientstatus", nil},
	{"internal/delivery/xds", []string{
		"internal/h2frame", "internal/timerslack", "internal/truncate", "internal/delivery/socket", "internal/delivery/grpcserver",
		"internal/delivery/xds/clientstatus",
	}},
	{"internal/pod/dns", nil},
	{"internal/pod/capture", []string{"internal/pod/dns"}},
	{"internal/pod/secrets", []string{"sidecar"}}, {"internal/pod/relay", []string{"internal/identity", "sidecar"}},
	{"internal/pod/agent", []string{
		"internal/connlimit", "internal/serverlimit", "internal/identity", "internal/pod/capture", "internal/pod/dns", "internal/pod/relay", "internal/pod/secrets",
		"model", "sidecar",
	}},
	{"internal/objects/patch", nil},
	{"internal/objects/list", nil},
	{"internal/objects/workqueue", nil},
	{"internal/build", []string{"charts"}},
	{"internal/trait", nil},
	{"internal/trait/provider", []string{"api/..."}},
	{"internal/trait/ingressobject", []string{"internal/trait/provider"}},
	{"internal/trait/providertest", []string{"internal/trait/provider"}},
	{"internal/trait/fieldpath", nil},
	{"internal/trait/snapshot", nil},
	{"internal/trait/discovery", []string{"api/...", "internal/trait/provider", "internal/trait/fieldpath"}},
	{"internal/trait/controller", []string{"api/...", "internal/objects/workqueue", "internal/trait/provider", "internal/trait/discovery"}},
	{"internal/trait/route", []string{"api/...", "internal/trait/provider", "internal/trait/discovery", "internal/trait/controller"}},
	{"internal/trait/oam", []string{
		"api/...", "internal/trait/provider", "internal/trait/fieldpath", "internal/trait/discovery", "internal/trait/controller",
	}},
	{"internal/trait/certificate", []string{"internal/identity", "internal/trait/provider"}},
	{"internal/trait/issuer", []string{"internal/trait/certificate", "internal/trait/provider", "internal/trait/route"}},
	{"internal/trait/...", []string{"api/...", "internal/trait/provider", "internal/trait/ingressobject"}},
	{"internal/trait/builtin", []string{"internal/trait/..."}},
	{"internal/trait/dryrun", []string{"api/...", "internal/trait/..."}},
	{"internal/incremental", nil},
	{"internal/store", []string{"model", "sidecar", "internal/incremental"}},
	{"internal/gateway", []string{"api/...", "model", "internal/incremental", "internal/store"}},
	{"internal/dialect", []string{"api/...", "model", "sidecar", "internal/incremental", "internal/store"}},
	{"internal/dialect/...", []string{"internal/truncate", "internal/spelling", "api/...", "model", "sidecar", "internal/dialect", "internal/incremental", "internal/store", "internal/gateway"}},
	{"internal/dialect/builtin", []string{"internal/dialect", "internal/dialect/..."}},
	{"internal/driver/...", []string{"model", "sidecar"}},
	{"internal/driver/pipy", []string{"model", "sidecar"}},
	{"internal/driver/pipy/repo", []string{"internal/adminsocket", "internal/driver/pipy", "internal/xdsclient"}},
	{"internal/driver/native", []string{"model", "sidecar", "internal/proxy/config"}},
	{"internal/driver", []string{"sidecar", "internal/driver/..."}},
	{"internal/engine", []string{"model", "sidecar", "internal/dialect", "internal/incremental", "internal/store"}},
	{"internal/delivery", []string{"model", "sidecar", "internal/engine", "internal/delivery/xds"}},
	{"internal/objects/status", []string{"internal/truncate", "model", "internal/dialect", "internal/engine", "internal/objects/workqueue"}},
	{"internal/objects/finalizers", []string{"model", "internal/dialect", "internal/engine", "internal/objects/workqueue"}},
	{"internal/objects/kept", []string{"internal/dialect", "internal/engine", "internal/objects/workqueue"}},
	{"internal/objects/admission", []string{"internal/dialect", "internal/objects/patch", "internal/ratelimit"}},
	{"internal/objects/conversion", []string{"internal/dialect"}},
	{"internal/pod/inject", []string{"internal/connlimit", "model", "sidecar", "internal/dialect", "internal/objects/patch"}},
	{"test/cases", []string{"api/...", "internal/dialect", "internal/dialect/..."}}, {"test/sds", nil},
	{"internal/observe", []string{
		"test/cases", "test/sds", "model", "model/requests", "sidecar", "internal/dialect", "internal/dialect/builtin", "internal/engine",
		"internal/delivery/xds", "internal/pod/capture", "internal/pod/relay",
	}},
	{"internal/controlplane", []string{
		"internal/build", "internal/connlimit", "internal/serverlimit", "internal/truncate",
		"model", "sidecar", "internal/identity", "internal/dialect", "internal/driver", "internal/engine", "internal/delivery", "internal/delivery/xds",
		"internal/delivery/socket", "internal/objects/status", "internal/objects/finalizers", "internal/objects/kept", "internal/objects/admission",
		"internal/objects/conversion", "internal/pod/inject", "internal/trait", "internal/trait/builtin",
		"internal/trait/certificate", "internal/trait/issuer", "internal/trait/discovery", "internal/trait/controller", "internal/trait/route", "internal/trait/oam",
	}},
	{"internal/cli/rollout", []string{"internal/truncate"}},
	{"internal/cli/install", []string{
		"api/...", "charts", "charts/valuesschema", "internal/dialect", "internal/objects/admission",
		"internal/cli/rollout", "internal/identity", "sidecar",
	}},
	{"internal/cli/terminal", nil},
	{"internal/cli/manifest", []string{"model", "sidecar", "internal/dialect", "internal/spelling", "internal/cli/terminal"}},
	{"internal/cli/routes", []string{
		"api/...", "model", "internal/trait/...", "internal/cli/manifest", "internal/cli/terminal",
	}},
	{"internal/cli/lint", []string{
		"api/...", "docs/findings", "model", "sidecar", "internal/dialect", "internal/engine", "internal/store",
		"internal/spelling", "internal/cli/manifest", "internal/cli/routes", "internal/cli/terminal",
	}},
	{"internal/cli/phrases", []string{"model"}},
	{"internal/cli/lookup", []string{"model", "sidecar", "internal/dialect", "internal/engine"}},
	{"internal/cli/names", []string{"model", "internal/dialect", "internal/engine", "internal/store", "internal/cli/manifest"}},
	{"internal/cli/explain", []string{
		"docs/findings", "model", "internal/dialect", "internal/engine", "internal/store", "internal/cli/terminal",
		"internal/cli/lookup", "internal/cli/manifest", "internal/cli/names", "internal/cli/phrases", "internal/pod/inject",
		"sidecar",
	}},
	{"internal/cli/compare", []string{
		"model", "model/requests", "internal/dialect", "internal/engine", "internal/cli/explain", "internal/cli/lookup",
		"internal/cli/manifest", "internal/cli/phrases", "internal/cli/terminal",
	}},
	{"internal/cli/describe", []string{
		"docs/findings", "model", "internal/dialect", "internal/engine", "internal/cli/terminal", "internal/cli/lookup", "internal/cli/names",
		"internal/cli/phrases", "internal/cli/manifest", "internal/store",
	}},
	{"internal/cli/requestrates", []string{"sidecar"}},
	{"internal/cli/graph", []string{
		"internal/cli/requestrates", "model", "internal/dialect", "internal/engine", "internal/cli/lookup", "internal/cli/terminal", "internal/cli/phrases",
	}},
	{"internal/cli/inspect", []string{
		"internal/build", "model", "sidecar", "internal/delivery/xds/clientstatus", "internal/cli/names", "internal/cli/terminal",
	}},
	{"internal/cli/check", []string{
		"internal/build", "model", "sidecar", "internal/dialect", "internal/delivery/xds/clientstatus", "internal/engine", "internal/store",
		"internal/cli/install", "internal/cli/inspect", "internal/cli/rollout", "internal/cli/terminal", "internal/identity",
		"internal/pod/inject",
	}},
	{"internal/cli", []string{
		"internal/memlimit", "internal/build", "internal/adminsocket", "api/...", "internal/fleet", "internal/aggregate", "internal/proxy",
		"internal/proxy/discovery",
		"charts", "docs/findings", "model", "sidecar", "internal/controlplane", "internal/cli/install", "internal/pod/agent", "internal/pod/capture",
		"internal/identity", "internal/dialect", "internal/driver", "internal/engine", "internal/delivery/xds/clientstatus", "internal/objects/list",
		"internal/cli/terminal",
		"internal/cli/manifest", "internal/cli/lint", "internal/cli/explain", "internal/cli/compare", "internal/cli/describe", "internal/cli/graph",
		"internal/cli/inspect", "internal/cli/lookup", "internal/cli/check", "internal/cli/routes", "internal/cli/requestrates", "internal/trait", "internal/observe",
	}},
	{"program", []string{"internal/cli", "internal/dialect/builtin"}},
	{"cmd/anymesh", []string{"program"}},
	{"cmd/anymesh-proxy", []string{"internal/proxy"}},
}...)

// free are directories without import rules: what is not part of the program.
var free = []string{"bench/...", "docs/...", "examples/...", "test/...", "hack/...", "sidecar/conformance/..."}

// pkg is the output of go list for a package.
type pkg struct {
	ImportPath   string
	Standard     bool
	Doc          string
	Imports      []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

func TestAllowedImports(t *testing.T) {
	for i, r := range mayImport {
		for _, other := range r.imports {
			if !slices.ContainsFunc(mayImport[:i], func(above rule) bool {
				return above.pkg == other
			}) && other != r.pkg {
				t.Errorf("mayImport allows %s to import %s, which has no earlier rule", r.pkg, other)
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
			t.Errorf("package %s has no rule in mayImport", name)
			continue
		}
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, module)
			if isOurs && !covers(r.imports, ours) {
				t.Errorf("%s imports %s; allowed imports are %v", name, ours, r.imports)
			}
		}
	}
}

// ruleOf returns the rule of a package, or else of its group.
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

// Dialects and drivers must not depend on each other, so that each can be replaced.
func TestDialectsAndDriversAreIndependent(t *testing.T) {
	for folder, forbidden := range map[string]string{
		"internal/dialect/...": "internal/driver/", "internal/driver/...": "internal/dialect",
	} {
		for _, p := range list(t, "-deps", "./"+folder) {
			if strings.HasPrefix(p.ImportPath, module+forbidden) {
				t.Errorf("%s depends on %s", folder, p.ImportPath)
			}
		}
	}
}

func TestModelImportsOnlyStandardLibrary(t *testing.T) {
	for _, p := range list(t, "-deps", "./model") {
		if !p.Standard && p.ImportPath != module+"model" {
			t.Errorf("model depends on %s", p.ImportPath)
		}
	}
}

func covers(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		root, all := strings.CutSuffix(p, "/...")
		return name == root || all && strings.HasPrefix(name, root+"/")
	})
}

// list runs go list for packages of this module.
func list(t *testing.T, arguments ...string) []pkg {
	t.Helper()
	command := exec.Command("go", append([]string{
		"list", "-json=ImportPath,Standard,Doc,Imports,GoFiles,TestGoFiles,XTestGoFiles",
	}, arguments...)...)
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
