package observe

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChangesKeepConnections changes settings of a mesh, TrafficSplits, clients outside of the mesh and limits while
// real Envoys run. Connections of a client or of a server drain only if they may not be allowed any more: those to the
// outside of the mesh after the end of egress; those of streams, whose clients a server knows from the handshake, after
// a change of who may connect; those of clients outside of the mesh when these change; and those to a port when its
// handshake changes, or the rate of its connections.
func TestChangesKeepConnections(t *testing.T) {
	path, err := filepath.Abs("testdata/openstreams.txtar")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadCase(path)
	if err != nil {
		t.Fatal(err)
	}
	const egress = "no egress: 1"
	server := []string{
		"permissive mode: 1", egress, "no permissive mode: 1", "its sources change: 1", "no AccessControl: 2",
		"no IngressBackend: 1", "TLS without certificates for everybody: 1", "a limit of connections: 2",
	}
	for _, s := range envoys(t) {
		for workload, want := range map[string][]string{"shop/client": {egress}, "shop/web": server} {
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
