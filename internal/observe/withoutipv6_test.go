package observe

import "testing"

// Sidecars and gateways work on kernels without IPv6, with both versions of Envoy.
func TestKernelWithoutIPv6(t *testing.T) {
	for _, s := range envoys(t) {
		for _, of := range [][2]string{{"retry-default", "front"}, {"gateway", "edge"}, {"into", "front"}} {
			t.Run(s.Name+"/"+of[0], func(t *testing.T) {
				t.Parallel()
				report(t, s, func() ([]string, error) {
					return observe(t.Context(), readCase(t, "appmesh/"+of[0]), of[1], s.Name, envWithoutIPv6+"=1")
				})
			})
		}
	}
}
