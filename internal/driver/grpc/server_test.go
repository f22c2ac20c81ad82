package grpc

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// TestUnprotectedPort renders listeners of HTTP. One with TLS, or of a workload with authorization, has a finding: the
// application serves it without the mesh.
func TestUnprotectedPort(t *testing.T) {
	for name, of := range map[string]struct {
		tls       *model.ServerTLS
		authorize bool
		found     int
	}{
		"plain":         {nil, false, 0},
		"TLS":           {&model.ServerTLS{Mode: model.TLSStrict}, false, 1},
		"authorization": {nil, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			resources, findings := Driver{}.Render(&model.View{
				Workload: model.Workload{Authorize: of.authorize},
				Inbound:  []model.Inbound{{Listener: model.Listener{Port: 8080, Protocol: model.HTTP, TLS: of.tls}}},
			})
			if len(resources) != 0 || len(findings) != of.found {
				t.Fatalf("got %d resources and findings %v, want none and %d", len(resources), findings, of.found)
			}
			if of.found > 0 && !strings.Contains(findings[0].Text, "nothing protects port 8080") {
				t.Errorf("got %v", findings)
			}
		})
	}
}
