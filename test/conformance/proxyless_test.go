package conformance

import (
	"os"
	"testing"

	"anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/model"
)

// beyondCalls are features that the calls of libraryLine do not show.
var beyondCalls = []model.Feature{"egress.Deny", "egress.names", "listener.timeout"}

// libraries is the driver grpc for views with calls only.
type libraries struct{ grpc.Driver }

func (l libraries) Supports() map[model.Feature]bool {
	out := l.Driver.Supports()
	for _, f := range beyondCalls {
		out[f] = true
	}
	return out
}

// TestProxyless checks that a gRPC library with the configuration of the driver grpc behaves as the interpreter
// decides, as client and as server, in the cases of which the driver declares all that they need.
func TestProxyless(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("creating namespaces requires root")
	}
	ran := 0
	for _, c := range readCases(t) {
		m := c.Translate()
		for _, workload := range c.Workloads() {
			view, err := m.View(workload)
			if err != nil {
				t.Fatal(err)
			}
			calls := false
			for _, l := range c.Lines {
				calls = calls || l.Workload == workload && libraryLine(view, l)
			}
			if !calls || view.Gateway || !declared(libraries{}, view) {
				continue
			}
			ran++
			t.Run(c.Name+"/"+workload, func(t *testing.T) {
				t.Parallel()
				wrong, err := Observe(t.Context(), c, workload, grpc.Name)
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range wrong {
					t.Error(w)
				}
			})
		}
	}
	if ran == 0 {
		t.Error("the driver declares no case")
	}
}
