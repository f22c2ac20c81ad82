package envoy_test

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/cases"
)

var update = flag.Bool("update", false, "rewrite the outline in testdata")

// dump returns the dump of a workload of the example, like the debug server.
func dump(t *testing.T, workload string) []byte {
	t.Helper()
	files, err := manifest.Read([]string{"../../../examples/colors"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dialects := dialect.All()
	var kinds []client.Object
	for _, d := range dialects {
		kinds = append(kinds, d.Kinds()...)
	}
	set, err := manifest.Decode(files.Documents, kinds, "default")
	if err != nil {
		t.Fatal(err)
	}
	state := engine.Compute(dialects, engine.Settings{}, set.Objects)
	resources, _ := sidecar.Configuration(envoy.Driver{}, state.Views[model.Key{Mesh: "colors", Name: workload}].View,
		state.Index.ResolvedDestination)
	text, err := envoy.Driver{}.Dump(resources)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOutline(t *testing.T) {
	var got bytes.Buffer
	if err := (envoy.Driver{}).Outline(&got, terminal.Style{}, dump(t, "front_colors")); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/outline.txt"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got.String() != string(want) {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, got.String(), want)
	}
}

// eachWorkload calls f with the resources of each workload of each case.
func eachWorkload(t *testing.T, f func(t *testing.T, name string, resources []sidecar.Resource)) {
	t.Helper()
	for _, file := range cases.Names("*") {
		c, err := cases.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		dialects, err := dialect.Configured(c.Settings)
		if err != nil {
			t.Fatal(err)
		}
		state := engine.Compute(dialects, engine.Settings{}, c.Objects)
		for key, view := range state.Views {
			resources, _ := sidecar.Configuration(envoy.Driver{}, view.View, state.Index.ResolvedDestination)
			f(t, c.Name+" "+key.Name, resources)
		}
	}
}

// clusterWithoutType matches a row of the table of clusters with "-" in the column of types.
var clusterWithoutType = regexp.MustCompile(`(?m)^  cds_\S+ +- `)

// Each cluster, route and condition of the configuration of each case is in its outline.
func TestOutlineIsComplete(t *testing.T) {
	eachWorkload(t, func(t *testing.T, name string, resources []sidecar.Resource) {
		dump, err := envoy.Driver{}.Dump(resources)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := (envoy.Driver{}).Outline(&out, terminal.Style{}, dump); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if clusterWithoutType.MatchString(text) {
			t.Errorf("%s: cluster without type in\n%s", name, text)
		}
		for _, r := range resources {
			message, err := envoy.Decode(r)
			if err != nil {
				t.Fatal(err)
			}
			switch m := message.(type) {
			case *clusterv3.Cluster:
				if line := "\n  " + m.GetName() + " "; !strings.Contains(text, line) {
					t.Errorf("%s: cluster %s is missing in\n%s", name, m.GetName(), text)
				}
			case *endpointv3.ClusterLoadAssignment:
				for _, e := range m.GetEndpoints() {
					for _, one := range e.GetLbEndpoints() {
						if a := one.GetEndpoint().GetAddress().GetSocketAddress().GetAddress(); !strings.Contains(text, a) {
							t.Errorf("%s: endpoint %s is missing in\n%s", name, a, text)
						}
					}
				}
			case *routev3.RouteConfiguration:
				for _, h := range m.GetVirtualHosts() {
					for _, r := range h.GetRoutes() {
						for _, header := range r.GetMatch().GetHeaders() {
							if !strings.Contains(text, strings.TrimPrefix(header.GetName(), ":")+" ") {
								t.Errorf("%s: condition on header %s is missing in\n%s", name, header.GetName(), text)
							}
						}
					}
				}
			}
		}
		for _, unknown := range []string{"no action that this program knows", "this route table is not there"} {
			if strings.Contains(text, unknown) {
				t.Errorf("%s: %q in\n%s", name, unknown, text)
			}
		}
	})
}

func TestOutlineOfConditions(t *testing.T) {
	const dump = `{"rds_x": {"virtualHosts": [{"domains": ["a"], "routes": [{"match": {"prefix": "/", "headers": [
		{"name": ":method", "stringMatch": {"exact": "GET"}}, {"name": "x-a", "presentMatch": true, "invertMatch": true},
		{"name": "x-b", "rangeMatch": {"start": "1", "end": "9"}}, {"name": "x-c", "stringMatch": {"suffix": "z", "ignoreCase": true}}],
		"queryParameters": [{"name": "q", "stringMatch": {"safeRegex": {"regex": "a|b"}}}]},
		"redirect": {"schemeRedirect": "https", "portRedirect": 8443, "responseCode": "PERMANENT_REDIRECT"}}]}]},
		"lds_x": {"name": "lds_x", "filterChains": [{"filters": [{"typedConfig": {"rds": {"routeConfigName": "rds_x"}}}]}]}}`
	var out bytes.Buffer
	if err := (envoy.Driver{}).Outline(&out, terminal.Style{}, []byte(dump)); err != nil {
		t.Fatal(err)
	}
	const want = "path begins with /, method is GET, not: header x-a is present, header x-b is from 1 to below 9, " +
		"header x-c ends with z (ignoring case), query q matches a|b → redirect to https://the same host:8443, permanent redirect\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestOutlineOfInvalidDump(t *testing.T) {
	for _, text := range []string{"", "[]", `{"cds_x": 1}`, `{"lds_x": {"filterChains": 1}}`} {
		if err := (envoy.Driver{}).Outline(&bytes.Buffer{}, terminal.Style{}, []byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}
