package observe

import (
	"bytes"
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/test/cases"
)

var update = flag.Bool("update", false, "rewrite the generated sections of the cases")

func readCases(t *testing.T) []*Case {
	t.Helper()
	all, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTranslation checks that the objects translate to the model, the findings and the sidecar configuration in the
// file.
func TestTranslation(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			sections, err := c.sections(c.translated())
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := c.Write("../../test/cases", sections); err != nil {
					t.Fatal(err)
				}
				return
			}
			have := c.Generated()
			if len(have) != len(sections) {
				t.Fatalf("the file has %d generated sections, want %d; update it with -update", len(have),
					len(sections))
			}
			for i, want := range sections {
				if have[i].Name != want.Name || !bytes.Equal(have[i].Data, want.Data) {
					t.Errorf("%s (-file +generated; update with -update):\n%s", want.Name,
						cmp.Diff(string(have[i].Data), string(want.Data)))
				}
			}
		})
	}
}

// TestInterpreter checks that the interpreter decides as the file specifies.
func TestInterpreter(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			m := c.translated()
			for _, l := range c.Lines {
				view, err := m.View(l.Workload)
				if err != nil {
					t.Fatalf("%s:%d: %v", cases.RequestsSection, l.Number, err)
				}
				for _, wrong := range l.connecting(m.State.Index, view).Check(view) {
					t.Errorf("%s:%d: %s", cases.RequestsSection, l.Number, wrong)
				}
			}
		})
	}
}

// TestRendering checks that the rendered resources pass Envoy's validation and are deterministic.
func TestRendering(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			m, again := c.translated(), c.translated()
			if diff := cmp.Diff(m.Rendered, again.Rendered); diff != "" {
				t.Errorf("rendering is not deterministic:\n%s", diff)
			}
			for key, resources := range m.Rendered {
				for _, r := range resources {
					message, err := envoy.Decode(r)
					if err != nil {
						t.Fatalf("%s: %s: %v", key, r.Name, err)
					}
					if v, ok := message.(interface{ ValidateAll() error }); !ok {
						t.Errorf("%s: %T cannot be validated", r.Name, message)
					} else if err := v.ValidateAll(); err != nil {
						t.Errorf("%s: %s: %v", key, r.Name, err)
					}
				}
			}
		})
	}
}
