package conformance

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChangesKeepConnections changes settings of a mesh and TrafficSplits while real Envoys run. Connections of a
// client or of a server drain only if they may not be allowed any more: those to the outside of the mesh after the end
// of egress, and those of streams, whose clients a server knows from the handshake, after a change of who may connect.
func TestChangesKeepConnections(t *testing.T) {
	path, err := filepath.Abs("testdata/openstreams.txtar")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadCase(path)
	if err != nil {
		t.Fatal(err)
	}
	const egress, permissive, strict = "no egress: 1", "permissive mode: 1", "no permissive mode: 1"
	for _, s := range envoys(t) {
		for workload, want := range map[string][]string{"shop/client": {egress}, "shop/web": {permissive, egress, strict}} {
			t.Run(s.Name+"/"+workload, func(t *testing.T) {
				t.Parallel()
				drained, err := observe(t.Context(), c, workload, s.Name, envChanges+"=1")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, drained); diff != "" {
					t.Errorf("changes, and how many listeners and filter chains drain (-want +got):\n%s", diff)
				}
			})
		}
	}
}
