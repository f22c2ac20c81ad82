package presubmit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// home is a dialect or a driver: where its names belong, and which names are its own.
type home struct {
	// folders may use the names: that of the dialect or driver, those of its API types, and the list.
	folders []string
	// words are found in identifiers, and in string literals, in any case.
	words *regexp.Regexp
}

// homes has a row for each dialect and driver. Kinds that are words of the model too, as Mesh and Route, are
// everybody's.
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

// xdsNames are names of the xDS protocol: the Go module of its messages, its services and the types of its resources.
// Every client of the protocol has them, whatever its name.
var xdsNames = regexp.MustCompile(`^"(/?envoy\.(config|service|extensions)\.|type\.googleapis\.com/envoy\.|github\.com/envoyproxy/go-control-plane/)`)

// TestNamesStayAtHome parses the code of the program. A dialect's name, API group, annotation prefix or kind outside
// its folder means that another dialect would need a change there; the same holds for drivers.
func TestNamesOfDialectsStayAtHome(t *testing.T) {
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
					if n.Kind == token.STRING && !xdsNames.MatchString(n.Value) {
						found = h.words.FindString(n.Value)
					}
				}
				if found != "" {
					t.Errorf("%s: %q is a word of %s; say it there, behind the contract", set.Position(n.Pos()), found,
						name)
				}
				return true
			})
		}
	}
}

// product tells whether a file is part of the program.
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
