package fields_test

import (
	"testing"

	"anymesh.dev/anymesh/docs/fields"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/sidecar"
)

var drivers = map[string]sidecar.Renderer{envoy.Name: envoy.Driver{}}

// What a schema accepts has an effect, or its owner is told that it has none.
func TestNoFieldIsSilentlyIgnored(t *testing.T) {
	all, err := fields.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d fields", len(all))
	}
	for _, f := range all {
		t.Run(f.Kind+"/"+f.Path(), func(t *testing.T) {
			outcome, err := fields.Probe(f, drivers)
			if err != nil {
				t.Fatal(err)
			}
			if outcome.Silent() {
				t.Error("the field is accepted, and nothing becomes of it")
			}
		})
	}
}
