package docs

import (
	"os"
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
