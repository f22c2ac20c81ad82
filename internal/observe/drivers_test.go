package observe_test

import (
	"os"
	"testing"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/internal/driver/pipy"
	"anymesh.dev/anymesh/internal/observe"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar/conformance"
)

// TestEnvoy, TestNative and TestProxyless check that the sidecar of a driver, and a gRPC library without one, behave as
// the interpreter decides.
func TestEnvoy(t *testing.T) { conformance.Run(t, observe.Envoys(t)[0]) }

// TestOldestEnvoy does so for the oldest supported version of Envoy.
func TestOldestEnvoy(t *testing.T) {
	onlyLong(t)
	conformance.Run(t, observe.Envoys(t)[1])
}

// onlyLong skips a test unless "make test-long" runs it.
func onlyLong(t *testing.T) {
	t.Helper()
	if os.Getenv("ANYMESH_TEST_LONG") == "" {
		t.Skip("minutes; set ANYMESH_TEST_LONG=1")
	}
}

func TestNative(t *testing.T) { conformance.Run(t, observe.BuiltIn(t, native.Name)) }

// TestPipy needs the program of pipy, which no package registry has: in the variable PIPY, or on the path.
func TestPipy(t *testing.T) { conformance.Run(t, observe.BuiltIn(t, pipy.Name)) }

func TestProxyless(t *testing.T) { conformance.Run(t, observe.BuiltIn(t, grpc.Name)) }

// alike are features without which requests of the cases end alike: a proxy closes a connection whose endpoint refuses
// it, whether or not it knew before.
var alike = map[string][]model.Feature{envoy.Name: {"healthCheck.tcp"}, native.Name: {"healthCheck.tcp"}}

// TestBrokenDrivers breaks each feature of each driver, and checks that its real sidecar then fails. The features that
// no request shows are those of the lists elsewhere and unobserved.
func TestBrokenDrivers(t *testing.T) {
	onlyLong(t)
	for _, name := range []string{envoy.Name, native.Name, grpc.Name, pipy.Name} {
		t.Run(name, func(t *testing.T) {
			for _, f := range conformance.RunBroken(t, observe.BuiltIn(t, name), alike[name]...) {
				if !observe.Shown(name, f) {
					t.Errorf("no request shows %s", f)
				}
			}
		})
	}
}

// Each driver declares all features of which its sidecar passes the requests, except for some.
func TestUndeclaredFeatures(t *testing.T) {
	onlyLong(t)
	for _, name := range []string{envoy.Name, native.Name, grpc.Name, pipy.Name} {
		t.Run(name, func(t *testing.T) {
			for _, f := range conformance.RunUndeclared(t, observe.BuiltIn(t, name)) {
				t.Errorf("driver %s could declare %s", name, f)
			}
		})
	}
}
