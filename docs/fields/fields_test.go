package fields_test

import (
	"testing"

	"anymesh.dev/anymesh/docs/fields"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/sidecar"
)

var drivers = map[string]sidecar.Renderer{envoy.Name: envoy.Driver{}, native.Name: native.Driver{}}

// TestNoFieldIsSilentlyIgnored checks that every field of the schemas has an effect.
func TestNoFieldIsSilentlyIgnored(t *testing.T) {
	for _, a := range []struct {
		api   *fields.API
		least int
	}{{fields.AppMesh, 100}, {fields.SMI, 15}, {fields.L7mp, 40}} {
		all, err := a.api.All()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) < a.least {
			t.Fatalf("only %d fields", len(all))
		}
		for _, f := range all {
			t.Run(f.Kind+"/"+f.Path(), func(t *testing.T) {
				outcome, err := a.api.Probe(f, drivers)
				if err != nil {
					t.Fatal(err)
				}
				if outcome.Silent() != f.Inert() {
					t.Error("the field is accepted, but has no effect and no finding")
				}
				if outcome.FieldNotImplemented() {
					t.Error("a finding says that the field has no effect")
				}
			})
		}
	}
}
