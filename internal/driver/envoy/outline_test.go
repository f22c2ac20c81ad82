package envoy_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

var update = flag.Bool("update", false, "rewrite the outline in testdata")

// dump returns the dump of a workload of the example, like the debug server.
func dump(t *testing.T, workload string) []byte {
	t.Helper()
	documents, _, err := manifest.Read([]string{"../../../examples/colors"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dialects := dialect.All()
	var kinds []client.Object
	for _, d := range dialects {
		kinds = append(kinds, d.Kinds()...)
	}
	set, err := manifest.Decode(documents, kinds, "default")
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

func TestOutlineOfInvalidDump(t *testing.T) {
	for _, text := range []string{"", "[]", `{"cds_x": 1}`, `{"lds_x": {"filterChains": 1}}`} {
		if err := (envoy.Driver{}).Outline(&bytes.Buffer{}, terminal.Style{}, []byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}
