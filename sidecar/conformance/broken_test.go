package conformance

import (
	"os"
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/internal/driver/pipy"
	"anymesh.dev/anymesh/model"
)

// alike are features without which requests of the cases end alike: a proxy closes a connection whose endpoint refuses
// it, whether or not it knew before.
var alike = map[string][]model.Feature{envoy.Name: {"healthCheck.tcp"}, native.Name: {"healthCheck.tcp"}}

// TestBrokenDrivers breaks each feature of each driver, and checks that its real sidecar then fails. The features that
// no request shows are those of the lists elsewhere and unobserved.
func TestBrokenDrivers(t *testing.T) {
	if os.Getenv("ANYMESH_TEST_LONG") == "" {
		t.Skip("minutes; set ANYMESH_TEST_LONG=1")
	}
	for _, name := range []string{envoy.Name, native.Name, grpc.Name, pipy.Name} {
		t.Run(name, func(t *testing.T) {
			for _, f := range RunBroken(t, sidecarOf(t, name), alike[name]...) {
				if elsewhere[name][f] == "" && !slices.Contains(unobserved[name], f) {
					t.Errorf("no request shows %s", f)
				}
			}
		})
	}
}

// Each driver declares all features of which its sidecar passes the requests, except for some.
func TestUndeclaredFeatures(t *testing.T) {
	if os.Getenv("ANYMESH_TEST_LONG") == "" {
		t.Skip("minutes; set ANYMESH_TEST_LONG=1")
	}
	for _, name := range []string{envoy.Name, native.Name, grpc.Name, pipy.Name} {
		t.Run(name, func(t *testing.T) {
			for _, f := range RunUndeclared(t, sidecarOf(t, name)) {
				t.Errorf("driver %s could declare %s", name, f)
			}
		})
	}
}
