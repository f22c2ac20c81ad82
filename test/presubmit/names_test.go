package presubmit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// home lists the directories that may use the names of a dialect or driver, and these names.
type home struct {
	// folders may use the names: those of the dialect or driver, of its API types, and of the list.
	folders []string
	// words are matched in identifiers and string literals, ignoring case.
	words *regexp.Regexp
}

// homes has an entry for each dialect and driver, without kinds that are also terms of the model, such as Mesh and
// Route.
var homes = map[string]home{
	"dialect appmesh": {
		[]string{"api/appmesh/", "internal/dialect/appmesh/", "internal/dialect/builtin/"},
		regexp.MustCompile(`(?i)appmesh|virtual_?(node|service|router|gateway)|gatewayroute|backendgroup|cloudmap`),
	},
	"dialect smi":  {[]string{"api/smi/", "internal/dialect/smi/", "internal/dialect/builtin/"}, regexp.MustCompile(`(?i)smi-spec|traffic_?(target|split)|httproutegroup`)},
	"driver envoy": {[]string{"internal/driver/envoy/", "internal/driver/drivers.go"}, regexp.MustCompile(`(?i)envoy`)},
	"driver pipy":  {[]string{"internal/driver/pipy/", "internal/driver/drivers.go"}, regexp.MustCompile(`(?i)pipy`)},
	"dialect l7mp": {[]string{"api/l7mp/", "internal/dialect/l7mp/", "internal/dialect/builtin/"}, regexp.MustCompile(`(?i)l7mp`)},
}

// xdsNames are names of the xDS protocol: the Go module of its messages, its services and its resource types. All
// clients of the protocol use them, with any driver.
var xdsNames = regexp.MustCompile(`^"(/?envoy\.(config|data|service|extensions)\.|type\.googleapis\.com/envoy\.|github\.com/envoyproxy/go-control-plane/)`)

// interfaces are names of a driver that are a part of a dialect's API, by file.
var interfaces = map[string]*regexp.Regexp{
	"internal/dialect/appmesh/podoptions.go":        regexp.MustCompile(`^"envoy"$`), // the container of a gateway's pod
	"internal/dialect/appmesh/variables.go":         proxyVariables,
	"internal/dialect/appmesh/proxysettings.go":     proxyVariables,
	"internal/dialect/appmesh/telemetrysettings.go": proxyVariables,
}

// proxyVariables are environment variables of the container of a proxy.
var proxyVariables = regexp.MustCompile(`^"[A-Z_]*ENVOY_[A-Z_0-9]*"$`)

// The name, API group, annotation prefix and kinds of a dialect are used only in its folders, because other dialects
// would require changes elsewhere. The same applies to drivers.
func TestNamesOfDialectsAndDriversAreLocal(t *testing.T) {
	for file, text := range sources(t) {
		if strings.HasSuffix(file, "_test.go") || !product(file) {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, h := range homes {
			if startsWithAny(file, h.folders) {
				continue
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				var found string
				switch n := n.(type) {
				case *ast.Ident:
					found = h.words.FindString(n.Name)
				case *ast.BasicLit:
					if n.Kind == token.STRING && !xdsNames.MatchString(n.Value) &&
						(interfaces[file] == nil || !interfaces[file].MatchString(n.Value)) {
						found = h.words.FindString(n.Value)
					}
				}
				if found != "" {
					t.Errorf("%s: %q is a name of %s and allowed only there", set.Position(n.Pos()), found,
						name)
				}
				return true
			})
		}
	}
}

// product reports whether a file is part of the program.
func product(file string) bool {
	return startsWithAny(file, []string{"internal/", "sidecar/", "model/", "cmd/"})
}

func startsWithAny(text string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}
