package fields_test

import (
	"testing"

	"anymesh.dev/anymesh/docs/fields"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/sidecar"
)

var drivers = map[string]sidecar.Renderer{envoy.Name: envoy.Driver{}}

// TestNoFieldIsSilentlyIgnored checks that every field of the schemas has an effect or a finding.
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
			if reason := withoutEffect[f.Kind+" "+f.Path()]; outcome.FieldNotImplemented() != (reason != "") {
				t.Errorf("not implemented: %t, reason %q", outcome.FieldNotImplemented(), reason)
			}
		})
	}
}

// withoutEffect are the fields that are not honored, each with its reason.
var withoutEffect = func() map[string]string {
	out := map[string]string{}
	for _, field := range []string{
		"healthyThreshold", "intervalMillis", "path", "port", "protocol", "timeoutMillis", "unhealthyThreshold",
	} {
		out["VirtualGateway spec.listeners[].healthCheck."+field] = "no client of the mesh connects to a gateway"
	}
	return out
}()
