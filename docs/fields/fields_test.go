package fields_test

import (
	"testing"

	"anymesh.dev/anymesh/docs/fields"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/sidecar"
)

var drivers = map[string]sidecar.Renderer{envoy.Name: envoy.Driver{}}

// TestNoFieldIsSilentlyIgnored checks that every field of the schemas has an effect.
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
				t.Error("the field is accepted, but has no effect and no finding")
			}
			if outcome.FieldNotImplemented() {
				t.Error("a finding says that the field has no effect")
			}
		})
	}
}
