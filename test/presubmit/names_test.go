package presubmit

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	_ "anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/e2e/extended/parcel"
)

// name is a name of dialects or drivers: their own name, an API group or a kind.
type name struct {
	// text is the name as its owner writes it; plain is its plain form.
	text, plain string
	owner       string
	// folders may use the name: of its owners, the list of dialects or drivers, and those with such a field in their API.
	folders []string
}

// xdsNames are names of the xDS protocol: the Go module of its messages, its services, resource types and sockets. All
// clients of the protocol use them, with any driver.
var xdsNames = regexp.MustCompile(`^"(/?envoy\.(config|data|service|extensions|transport_sockets)\.|type\.googleapis\.com/envoy\.|github\.com/envoyproxy/go-control-plane/)`)

// interfaces are names of drivers and dialects that are a part of another API, or chart values of others, by file.
var interfaces = map[string]*regexp.Regexp{
	"internal/dialect/ingress/doc.go": gatewayValue, "internal/cli/install/render.go": gatewayValue,
	"internal/dialect/osm/mesh":                     meshConfigKeys,
	"internal/proxy/accesslog/format.go":            regexp.MustCompile(`(?i)x-envoy-original-path`), // the header that formats name
	"internal/dialect/appmesh/podoptions.go":        regexp.MustCompile(`^"envoy"$`),                 // the container of a gateway's pod
	"internal/proxy/config/spec.go":                 regexp.MustCompile(`^"L7mpController"$`),        // the cluster of the API
	"internal/dialect/osm/upstreamsetting.go":       regexp.MustCompile(`^"spec.httpRoutes`),
	"internal/dialect/appmesh/variables.go":         proxyVariables,
	"internal/dialect/appmesh/proxysettings.go":     proxyVariables,
	"internal/dialect/appmesh/telemetrysettings.go": proxyVariables,
}

// writers are the providers of Routes that write objects of a dialect, which may use its names.
var writers = map[string]string{"internal/trait/gateway/": "gateway.networking.k8s.io"}

// gatewayValue is ingress.gatewayAPI, meshConfigKeys are of MeshConfig, proxyVariables of the container of a proxy.
var (
	gatewayValue   = regexp.MustCompile("^(`json:\"gatewayAPI\"`|\"gatewayAPI\")$")
	proxyVariables = regexp.MustCompile(`^"[A-Z_]*ENVOY_[A-Z_0-9]*"$`)
	meshConfigKeys = regexp.MustCompile(`^"((sidecar\.)?envoy(Windows)?Image|featureFlags\.enableEnvoyActiveHealthChecks)"$`)
)

// namesOf returns the names of dialects and of the registered drivers. A word that is also a term of the model or of
// Kubernetes is not a name: a kind of Kubernetes, or a word of an exported identifier of package model, as Mesh is. Nor
// is a type of the contract of drivers, which has the names of its original.
func namesOf(t *testing.T, dialects []dialect.Dialect) []name {
	t.Helper()
	terms := terms(t)
	fields := map[string][]string{} // folders by the plain form of a field
	var out []name
	add := func(text, owner string, folders ...string) {
		p := plain(text)
		if terms[p] {
			return
		}
		if i := slices.IndexFunc(out, func(n name) bool { return n.plain == p }); i >= 0 {
			out[i].folders = append(out[i].folders, folders...)
			return
		}
		out = append(out, name{text, p, owner, folders})
	}
	for _, d := range dialects {
		scheme := runtime.NewScheme()
		if err := d.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		folders := []string{"internal/dialect/" + d.Name() + "/", "internal/dialect/builtin/"}
		for folder, group := range writers {
			if scheme.IsGroupRegistered(group) {
				folders = append(folders, folder)
			}
		}
		add(d.Name(), "dialect "+d.Name(), folders...)
		add(d.Title(), "dialect "+d.Name(), folders...)
		for gvk := range scheme.AllKnownTypes() {
			o, err := scheme.New(gvk)
			if _, is := o.(client.Object); err != nil || !is || clientgoscheme.Scheme.Recognizes(gvk) {
				continue
			}
			add(gvk.Group, "dialect "+d.Name(), folders...)
			add(gvk.Kind, "dialect "+d.Name(), folders...)
			fieldsOf(reflect.TypeOf(o), map[reflect.Type]bool{}, func(field string) {
				if !slices.Contains(fields[field], folders[0]) {
					fields[field] = append(fields[field], folders[0])
				}
			})
		}
	}
	for i := range out { // a field of App Mesh is called httpRoute
		out[i].folders = append(out[i].folders, fields[out[i].plain]...)
	}
	for _, driver := range sidecar.Drivers() {
		add(driver, "driver "+driver, "internal/driver/"+driver+"/", "internal/driver/drivers.go")
	}
	if len(out) < 10 {
		t.Fatalf("found only %v", out)
	}
	return out
}

// fieldsOf adds the plain form of each field of an API type and of the types in it, without those of Kubernetes.
func fieldsOf(t reflect.Type, seen map[reflect.Type]bool, add func(string)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] || strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		add(plain(t.Field(i).Name))
		fieldsOf(t.Field(i).Type, seen, add)
	}
}

// camelWord matches a word of an identifier: HTTPRoute has HTTP and Route.
var camelWord = regexp.MustCompile(`[A-Z]+(?:[a-z0-9]+|$)|[A-Z]+`)

// terms returns the plain form of the kinds of Kubernetes, of the exported identifiers of package model, and of their
// words.
func terms(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for gvk := range clientgoscheme.Scheme.AllKnownTypes() {
		out[plain(gvk.Kind)] = true
	}
	files, err := filepath.Glob(filepath.Join(root, "model/*.go"))
	contract, err2 := filepath.Glob(filepath.Join(root, "sidecar/*.go"))
	if errors.Join(err, err2) != nil {
		t.Fatal(err, err2)
	}
	out["osm"], out["plugin"] = true, true // OsmNamespace, and the chart value of sidecars; a word of CNI and gRPC
	for _, file := range slices.Concat(files, contract) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for identifier := range parsed.Scope.Objects {
			if !ast.IsExported(identifier) {
				continue
			}
			out[plain(identifier)] = true
			for _, word := range camelWord.FindAllString(identifier, -1) {
				out[plain(word)] = out[plain(word)] || !slices.Contains(contract, file)
			}
		}
	}
	return out
}

// foreign lists the names in a file of the program that only other folders may use.
func foreign(file string, text []byte, names []name) ([]string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, 0)
	if err != nil {
		return nil, err
	}
	own := []string{"alternative", " ", "nativeendian", " ", "nativesidecar", " "} // a name that is a part of a longer one is not used by it
	names = slices.DeleteFunc(slices.Clone(names), func(n name) bool {
		if startsWithAny(file, n.folders) {
			own = append(own, n.plain, " ")
			return true
		}
		return false
	})
	kubernetes := kubernetesImports(parsed)
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		var used string
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, is := n.X.(*ast.Ident); is && kubernetes[of.Name] {
				return false
			}
		case *ast.Ident:
			used = n.Name
		case *ast.BasicLit:
			if n.Kind == token.STRING && !xdsNames.MatchString(n.Value) && !allowed(file, n.Value) {
				used = n.Value
			}
		}
		used = strings.NewReplacer(own...).Replace(plain(used))
		for _, name := range names {
			if strings.Contains(used, name.plain) {
				out = append(out, fmt.Sprintf("%s: %q is a name of %s and allowed only there", set.Position(n.Pos()), name.text, name.owner))
			}
		}
		return true
	})
	return out, nil
}

func allowed(file, literal string) bool {
	for prefix, words := range interfaces {
		if strings.HasPrefix(file, prefix) && words.MatchString(literal) {
			return true
		}
	}
	return false
}

// The name, API groups and kinds of a dialect are used only in its folders, because other dialects would require
// changes elsewhere. The same applies to drivers.
func TestNamesOfDialectsAndDriversAreLocal(t *testing.T) {
	names := namesOf(t, dialect.All())
	for file, text := range sources(t) {
		if strings.HasSuffix(file, "_test.go") || !product(file) {
			continue
		}
		found, err := foreign(file, text, names)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Error(f)
		}
	}
}

// The names come from the dialects: files that use them elsewhere are found, and two dialects may have one kind name.
func TestForeignNamesAreFound(t *testing.T) {
	names := namesOf(t, append(dialect.All(), parcel.Dialect{}))
	for _, c := range []struct{ file, text, want string }{
		{"internal/cli/probe.go", `var httpRoutes []string`, "HTTPRoute"},
		{"internal/cli/probe.go", `const kind = "HTTPRoute"`, "HTTPRoute"},
		{"internal/cli/probe.go", `const group = "gateway.networking.k8s.io"`, "gateway.networking.k8s.io"},
		{"internal/cli/probe.go", `var gatewayAPI int`, "gatewayapi"},
		{"internal/cli/probe.go", `const label = "appmesh.k8s.aws/mesh"`, "appmesh.k8s.aws"},
		{"internal/engine/probe.go", `type virtual_service int`, "VirtualService"},
		{"internal/dialect/parcel/probe.go", `type VirtualNode int`, "VirtualNode"},
		{"internal/dialect/appmesh/probe.go", `const group = "parcel.example.com"`, "parcel.example.com"},
		{"internal/delivery/probe.go", `var envoyVersion int`, "envoy"},
		{"internal/dialect/parcel/probe.go", `type VirtualService int`, ""},
		{"internal/dialect/appmesh/probe.go", `type VirtualService int`, ""},
		{"internal/driver/envoy/probe.go", `var envoyVersion int`, ""},
		{"internal/dialect/osm/probe.go", `const kind = "HTTPRouteGroup"`, ""},
		{"internal/dialect/osm/probe.go", `const kind = "HTTPRoute"`, "HTTPRoute"},
		{"internal/cli/probe.go", `type Mesh int; var gateway, ingress, service string`, ""},
	} {
		found, err := foreign(c.file, []byte("package probe\n"+c.text), names)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(found, "\n"); (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s with %s: got %q, want %q", c.file, c.text, got, c.want)
		}
	}
}

// The files of a dialect with the kind VirtualService in another group have no name of App Mesh.
func TestDialectsMayShareKindNames(t *testing.T) {
	names := namesOf(t, append(dialect.All(), parcel.Dialect{}))
	const folder = "test/e2e/extended/parcel/"
	count := 0
	for file, text := range sources(t) {
		if !strings.HasPrefix(file, folder) {
			continue
		}
		count++
		path := "internal/dialect/parcel/" + strings.TrimPrefix(file, folder)
		if found, err := foreign(path, text, names); err != nil || len(found) > 0 {
			t.Error(err, found)
		}
	}
	if count == 0 {
		t.Error("found no files of the dialect")
	}
}

// product reports whether a file is part of the program.
func product(file string) bool {
	return startsWithAny(file, []string{"internal/", "sidecar/", "model/", "cmd/"})
}

func startsWithAny(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}
