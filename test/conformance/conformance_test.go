package conformance

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/test/cases"
)

var update = flag.Bool("update", false, "rewrite the generated sections of the cases")

// folder has a folder for each dialect.
const folder = "../cases"

// parallel is how many sidecars are observed at once, unless -parallel is given. They wait for timeouts most of the
// time, so that two cores suffice.
const parallel = "6"

func TestMain(m *testing.M) {
	Inside()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func readCases(t *testing.T) []*Case {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in %s: %v", folder, err)
	}
	var all []*Case
	for _, path := range paths {
		if path, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
		c, err := ReadCase(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// TestTranslation checks that the objects translate to the model, the findings and the sidecar configuration in the
// file.
func TestTranslation(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			sections, err := c.Sections(c.Translate())
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := c.Write(sections); err != nil {
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
			m := c.Translate()
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
			m, again := c.Translate(), c.Translate()
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

// TestEnvoy checks that Envoy behaves as the interpreter decides.
func TestEnvoy(t *testing.T) {
	binaries := envoyFolder(t)
	for _, version := range []string{"envoy", oldestEnvoy} {
		path := filepath.Join(binaries, version)
		if _, err := os.Stat(path); err != nil && os.Getenv("CI") != "" {
			t.Fatal(err)
		} else if err != nil {
			continue
		}
		for _, c := range readCases(t) {
			for _, workload := range c.Workloads() {
				t.Run(strings.Join([]string{c.Name, workload, version}, "/"), func(t *testing.T) {
					t.Parallel()
					wrong, err := Observe(t.Context(), c, workload, path)
					if err != nil {
						t.Fatal(err)
					}
					for _, w := range wrong {
						t.Error(w)
					}
				})
			}
		}
	}
}
