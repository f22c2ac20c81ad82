package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/delivery/xds/clientstatus"
	_ "anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

func TestStateOf(t *testing.T) {
	nack := &clientstatus.Nack{Names: []string{"a"}, Message: "bad"}
	for want, c := range map[State]clientstatus.ClientType{
		Synced:   {SentVersion: "2", AckedVersion: "2", LastNack: nack}, // a later version was acknowledged
		Pending:  {SentVersion: "1", AckedVersion: "1", PendingResources: 2},
		Unacked:  {SentVersion: "2", AckedVersion: "1", PendingAcks: 1},
		Rejected: {SentVersion: "2", AckedVersion: "1", LastNack: nack},
	} {
		t.Run(string(want), func(t *testing.T) {
			if got := StateOf(c); got != want {
				t.Errorf("%+v: got %s, want %s", c, got, want)
			}
		})
	}
}

func TestTableListsRejections(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	all := []Sidecar{{Pod: "colors/front-1", Driver: "default", ControlPlane: "anymesh-0", Client: clientstatus.Client{
		Key: "colors/front_colors", NodeID: "mesh/colors/virtualNode/front_colors",
		Connected: now.Add(-5 * time.Minute),
		Types: []clientstatus.ClientType{{
			TypeURL: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Resources: 3, SentVersion: "2",
			AckedVersion: "1",
			LastNack:     &clientstatus.Nack{Names: []string{"cds_x"}, Message: "no such thing"},
		}},
	}}}
	var out bytes.Buffer
	if err := Table(&out, terminal.Style{}, all, "default", now); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
WORKLOAD             POD             SINCE  CLUSTERS    CONTROL PLANE  NODE ID
colors/front_colors  colors/front-1  5m     3 rejected  anymesh-0      mesh/colors/virtualNode/front_colors

✗ colors/front-1 rejects cds_x: no such thing
`, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if !AnyRejected(all) {
		t.Error("AnyRejected returned false")
	}
}

// The driver column is shown if a sidecar has a driver other than the default.
func TestTableDriverColumn(t *testing.T) {
	of := func(pod, driver string) Sidecar {
		return Sidecar{Pod: pod, Driver: driver, Client: clientstatus.Client{Key: "m/w"}}
	}
	for name, c := range map[string]struct {
		all  []Sidecar
		want string
	}{
		"all have the default driver": {[]Sidecar{of("a/1", "default"), of("a/2", "default")}, ""},
		"old control plane":           {[]Sidecar{of("a/1", "")}, ""},
		"two drivers":                 {[]Sidecar{of("a/1", "default"), of("a/2", "other")}, "DRIVER default other"},
		"one non-default driver":      {[]Sidecar{of("a/1", "other")}, "DRIVER other"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Table(&out, terminal.Style{}, c.all, "default", time.Time{}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				if fields := strings.Fields(line); strings.Contains(out.String(), "DRIVER") {
					got = append(got, fields[2])
				}
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got driver column %q, want %q:\n%s", text, c.want, out.String())
			}
		})
	}
}

// Sidecars of other drivers have types of their own, which have one column.
func TestTableOfOtherTypes(t *testing.T) {
	of := func(pod string, types ...clientstatus.ClientType) Sidecar {
		return Sidecar{Pod: pod, Client: clientstatus.Client{Key: "m/w", Types: types}}
	}
	config := clientstatus.ClientType{TypeURL: "type.googleapis.com/anymesh.proxy.Config", Resources: 7}
	pending := clientstatus.ClientType{TypeURL: "type.googleapis.com/x.Other", Resources: 2, PendingResources: 1}
	names := clientstatus.ClientType{TypeURL: sidecar.HostNameType, Resources: 4}
	setting := clientstatus.ClientType{TypeURL: sidecar.SettingType, Resources: 1}
	var out bytes.Buffer
	err := Table(&out, terminal.Style{}, []Sidecar{
		of("a/1", config, names, setting), of("a/2", config, pending), of("a/3", setting),
	}, "", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
WORKLOAD  POD  SINCE  CONFIG        NAMES     CONTROL PLANE  NODE ID
m/w       a/1  0s     7 synced      4 synced
m/w       a/2  0s     9, 1 pending  -
m/w       a/3  0s     -             -
`, "\n")
	if got := regexp.MustCompile(` +\n`).ReplaceAllString(out.String(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// noOutliner is a driver that does not implement Outliner.
type noOutliner struct{}

func (noOutliner) Patch(context.Context) error                                    { return nil }
func (noOutliner) Supports() map[model.Feature]bool                               { return nil }
func (noOutliner) Render(*model.View) ([]sidecar.Resource, []model.Finding)       { return nil, nil }
func (noOutliner) RenderDestination(model.ResolvedDestination) []sidecar.Resource { return nil }

func TestOutlineWithoutOutliner(t *testing.T) {
	dump, err := Dump(noOutliner{}, []sidecar.Resource{
		{Type: "t", Name: "n", Body: []byte(`{"a": 1}`)}, {Type: "t", Name: "o", Body: []byte{0xff}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"type":"t","name":"n","body":{"a":1}},{"type":"t","name":"o","body":"/w=="}]`; string(dump) != want {
		t.Errorf("got %s, want %s", dump, want)
	}
	var out bytes.Buffer
	if err := Outline(&out, terminal.Style{}, noOutliner{}, dump, nil); err != nil || !json.Valid(out.Bytes()) ||
		!strings.Contains(out.String(), "\n    \"name\": \"n\"") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// The agent of a pod has a connection of its own. Its names are in the row of the sidecar.
func TestMergeAgents(t *testing.T) {
	const names, clusters = sidecar.HostNameType, "a.Cluster"
	client := func(identity string, types ...string) Sidecar {
		s := Sidecar{Client: clientstatus.Client{Identity: identity}}
		for _, typeURL := range types {
			s.Types = append(s.Types, clientstatus.ClientType{TypeURL: typeURL})
		}
		return s
	}
	for _, ofAgent := range [][]string{
		{names}, {sidecar.AuthorityType}, {names, sidecar.EndpointAddressType, sidecar.AuthorityType},
	} {
		got := MergeAgents([]Sidecar{client("one", ofAgent...), client("one", clusters), client("two", clusters),
			client("three", ofAgent...)})
		if len(got) != 2 || len(got[0].Types) != 1+len(ofAgent) || got[0].Types[1].TypeURL != ofAgent[0] ||
			len(got[1].Types) != 1 {
			t.Errorf("%q: got %+v", ofAgent, got)
		}
	}
	// The sidecar has no such connection: its driver delivers configuration itself.
	agent := client("four", names)
	agent.NamesOnly = true
	if got := MergeAgents([]Sidecar{agent}); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	// The application calls nobody yet.
	agent, app := client("five", sidecar.AuthorityType), client("five", clusters)
	agent.Driver, app.Driver = "grpc", "grpc"
	if got := MergeAgents([]Sidecar{agent}); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := MergeAgents([]Sidecar{agent, app}); len(got) != 1 || len(got[0].Types) != 2 {
		t.Errorf("got %+v", got)
	}
}
