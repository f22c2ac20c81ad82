package conformance

import (
	"os"
	"path/filepath"
	"testing"
)

// Sidecars and gateways work on kernels without IPv6, with both versions of Envoy.
func TestKernelWithoutIPv6(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("creating namespaces requires root")
	}
	for version, binary := range binaries(t) {
		for _, of := range [][2]string{{"retry-default", "front"}, {"gateway", "edge"}, {"into", "front"}} {
			t.Run(version+"/"+of[0], func(t *testing.T) {
				t.Parallel()
				binary, err := filepath.Abs(binary)
				if err != nil {
					t.Fatal(err)
				}
				wrong, err := ObserveWithoutIPv6(t.Context(), readCase(t, "appmesh/"+of[0]), of[1], binary)
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
