package docs

import (
	"os"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
)

func TestPagesAreUpToDate(t *testing.T) {
	pages, err := Pages()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want {
			t.Errorf("%s is not up to date (%v); run: make generate", name, err)
		}
	}
}

// Every field of the schemas has an effect or a finding, and none is missing.
func TestNoFieldIsSilentlyIgnored(t *testing.T) {
	for page, least := range map[string]int{"appmesh.md": 100, "osm.md": 15, "l7mp.md": 40} {
		text, err := os.ReadFile(page) // TestPagesAreUpToDate compares it with the effects
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "| `") {
				continue
			}
			rows++
			if strings.Contains(line, ignored) || strings.Contains(line, "FieldNotImplemented") {
				t.Errorf("%s: %s", page, line)
			}
		}
		if rows < least {
			t.Errorf("%s has only %d fields", page, rows)
		}
	}
}

// TestDriversSupportOnlyFeaturesOfTheModel checks that drivers list only features of the model.
func TestDriversSupportOnlyFeaturesOfTheModel(t *testing.T) {
	known := map[model.Feature]bool{}
	for _, f := range model.AllFeatures() {
		known[f] = true
	}
	for f := range (envoy.Driver{}).Supports() {
		if !known[f] {
			t.Errorf("envoy supports %q, which is not a feature of the model", f)
		}
	}
}
