package presubmit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// former lists names that were replaced by terms of gRPC, Envoy, Kubernetes and HTTP, by the directory in which they
// are not allowed, including its subdirectories. The CHANGELOG or the code shows the new name.
var former = []struct{ folder, names string }{
	{"model", "Reach NewReach Access Accesses RetryCause OtherHost Holds Accept onwards Ingress"},
	{"internal/engine", "world Settle Settled Told Flow look"},
	{"internal/delivery/xds", "world patience visitors settle flight launch land doubt owed glance cold telling"},
	{"internal/delivery/grpcserver", "calm rest arrive watch silence lenience widen dribble greet leave said told half"},
	{"internal/delivery", "Crew Turn NewCrew hire rouse"},
	{"internal/controlplane", "away awaiting lookout look lead term afterWork fitting patience"},
	{"internal/objects", "known form bring look tell lookAgain bereft Releaser"},
	{"internal/identity", "ending keeper Keeper turn trouble kept"},
	{"internal/pod/agent", "ending keeper turn trouble kept"},
	{"internal/dialect/appmesh", "age leaving claim member rivals shelf bounds Surroundings Place"},
	{"internal/driver/envoy", "guard leaveOut overADS instances httpManager"},
	{"internal/cli", "tell garbage settling foresee whither"},
	{"test", "inhabitant sight instead besides leftbehind steady seam house"},
}

// words are former public names: finding codes and metrics.
var words = []string{"NotHonored", "ManyMeshes", "NoWeight", "anymesh_flow_", "anymesh_deliver_", "anymesh_queue_"}

// The test checks files, types, functions, methods, fields and package variables, but not names within functions.
func TestFormerNamesAreNotUsed(t *testing.T) {
	for file, text := range sources(t) {
		names := declared(t, file, text)
		names = append(names, strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".go"), "_test"))
		for _, f := range former {
			if !strings.HasPrefix(file, f.folder+"/") {
				continue
			}
			for _, name := range names {
				if slices.Contains(strings.Fields(f.names), name) {
					t.Errorf("%s: the name %s is not allowed in %s; use the term of the gRPC, Envoy, Kubernetes or HTTP documents", file, name,
						f.folder)
				}
			}
		}
		for _, w := range words {
			if strings.Contains(string(text), w) && !strings.HasPrefix(file, "test/presubmit/") {
				t.Errorf("%s: %s was renamed; see the CHANGELOG", file, w)
			}
		}
	}
}

// declared lists the names that a file declares outside of functions.
func declared(t *testing.T, file string, text []byte) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			out = append(out, n.Name.Name)
			return false
		case *ast.TypeSpec:
			out = append(out, n.Name.Name)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				out = append(out, name.Name)
			}
		case *ast.Field:
			for _, name := range n.Names {
				out = append(out, name.Name)
			}
		}
		return true
	})
	return out
}
