package builtin_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/trait/builtin"
	"anymesh.dev/anymesh/internal/trait/contour"
	"anymesh.dev/anymesh/internal/trait/gateway"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/providertest"
)

var update = flag.Bool("update", false, "rewrite the results of the cases in testdata")

// casesDir has the cases. A case has a Route (route.yaml), the objects of the cluster with their statuses
// (cluster.yaml); the results of each provider follow.
const casesDir = "../testdata"

// golden is a case.
type golden struct {
	name    string
	archive *txtar.Archive
	route   provider.Route
	cluster *providertest.Cluster
}

func goldens(t *testing.T) []golden {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(casesDir, "*.txtar"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	var out []golden
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g := golden{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), archive: archive, cluster: &providertest.Cluster{
			Kinds: []schema.GroupVersionKind{contour.Kind, gateway.GatewayKind, gateway.HTTPRouteKind, gateway.ListenerSetKind},
		}}
		for _, f := range archive.Files {
			switch f.Name {
			case "route.yaml":
				g.route = parseRoute(t, f.Data)
			case "cluster.yaml":
				if err := g.cluster.Parse(f.Data); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
			}
		}
		out = append(out, g)
	}
	return out
}

// parseRoute parses a Route. Timeouts are texts.
func parseRoute(t *testing.T, text []byte) provider.Route {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	rules, _ := fields["rules"].([]any)
	for i, r := range rules {
		rule := r.(map[string]any)
		for _, name := range []string{"readTimeout", "sendTimeout"} {
			if text, ok := rule[name].(string); ok {
				d, err := time.ParseDuration(text)
				if err != nil {
					t.Fatal(err)
				}
				rule[name] = d
			}
		}
		rule["field"] = fmt.Sprintf("spec.rules[%d]", i)
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	var out provider.Route
	if err := decoder.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// results are the results of a provider as text.
func results(t *testing.T, p provider.Provider, g golden) string {
	t.Helper()
	var out strings.Builder
	rendered := p.Render(g.route, g.cluster)
	for _, u := range rendered.Unsupported {
		fmt.Fprintf(&out, "# unsupported %s: %s\n", u.Field, u.Text)
	}
	if rendered.Waiting != nil {
		fmt.Fprintf(&out, "# waiting %s: %s\n", rendered.Waiting.Reason, rendered.Waiting.Message)
	} else {
		state := p.State(g.route, g.cluster)
		switch {
		case state.Waiting != nil:
			fmt.Fprintf(&out, "# state %s: %s\n", state.Waiting.Reason, state.Waiting.Message)
		default:
			fmt.Fprintf(&out, "# state served at %v\n", state.Addresses)
		}
	}
	for i, o := range rendered.Objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.String()
}

func TestGoldenCases(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			want := map[string]string{}
			kept := &txtar.Archive{Comment: g.archive.Comment}
			for _, f := range g.archive.Files {
				if name, ok := strings.CutPrefix(f.Name, "results/"); ok {
					want[name] = string(f.Data)
				} else {
					kept.Files = append(kept.Files, f)
				}
			}
			only, selected := strings.CutPrefix(strings.SplitN(string(g.archive.Comment), "\n", 2)[0], "Providers: ")
			for _, p := range builtin.Providers() {
				name := p.Names()[0]
				if selected && !strings.Contains(only, name) {
					continue
				}
				got := results(t, p, g)
				kept.Files = append(kept.Files, txtar.File{Name: "results/" + name, Data: []byte(got)})
				if diff := cmp.Diff(want[name], got); diff != "" && !*update {
					t.Errorf("%s (-want +got; -update rewrites the case):\n%s", name, diff)
				}
				delete(want, name)
			}
			if len(want) > 0 && !*update {
				t.Errorf("the case has results of unknown providers: %v", want)
			}
			if *update {
				if err := os.WriteFile(filepath.Join(casesDir, g.name+".txtar"), txtar.Format(kept), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
