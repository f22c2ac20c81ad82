package inspect

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

var update = flag.Bool("update", false, "rewrite the outline in testdata")

// dump renders a workload of the example as the debug server does.
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
	state := engine.Compute(dialects, set.Objects)
	resources, _ := sidecar.Configuration(envoy.Driver{}, state.Views[model.Key{Mesh: "colors", Name: workload}].View, state.Index.Reach)
	all := map[string]json.RawMessage{}
	for _, r := range resources {
		message, err := envoy.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		if all[r.Name], err = protojson.Marshal(message); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOutlineOfTheExample(t *testing.T) {
	e, err := ParseEnvoy(dump(t, "front_colors"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := e.Outline(&got, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/front.txt"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got.String() != string(want) {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got.String(), want)
	}
}

func TestDumpsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "[]", `{"cds_x": 1}`, `{"lds_x": {"filterChains": 1}}`} {
		if _, err := ParseEnvoy([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestStates(t *testing.T) {
	nack := &xds.Nack{Names: []string{"a"}, Message: "bad"}
	for want, c := range map[State]xds.ClientType{
		Synced:  {SentVersion: "2", AckedVersion: "2", LastNack: nack}, // what was refused before is mended
		Pending: {SentVersion: "1", AckedVersion: "1", PendingResources: 2},
		Waiting: {SentVersion: "2", AckedVersion: "1", PendingAcks: 1},
		Refused: {SentVersion: "2", AckedVersion: "1", LastNack: nack},
	} {
		if got := StateOf(c); got != want {
			t.Errorf("%+v is %s, want %s", c, got, want)
		}
	}
}

func TestTableTellsRefusals(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	all := []Sidecar{{Pod: "colors/front-1", ControlPlane: "anymesh-0", Client: xds.Client{
		Key: "colors/front_colors", NodeID: "mesh/colors/virtualNode/front_colors", Connected: now.Add(-5 * time.Minute),
		Types: []xds.ClientType{{
			TypeURL: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Resources: 3, SentVersion: "2", AckedVersion: "1",
			LastNack: &xds.Nack{Names: []string{"cds_x"}, Message: "no such thing"},
		}},
	}}}
	var out bytes.Buffer
	if err := Table(&out, terminal.Style{}, all, now); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
WORKLOAD             POD             SINCE  CLUSTERS   CONTROL PLANE  NODE ID
colors/front_colors  colors/front-1  5m     3 refused  anymesh-0      mesh/colors/virtualNode/front_colors

✗ colors/front-1 refuses cds_x: no such thing
`, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if !Refuses(all) {
		t.Error("a refusal is not one")
	}
}
