package inject

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// A pod whose driver has no TLS is created with a warning for each listener that requires TLS.
func TestUnprotectedListenersHaveWarnings(t *testing.T) {
	w := model.Workload{Listeners: []model.Listener{
		{Port: 80}, {Port: 81, TLS: &model.ServerTLS{Mode: model.TLSStrict}},
		{Port: 82, TLS: &model.ServerTLS{Mode: model.TLSPermissive}},
	}}
	// The driver lists no features, and is no renderer.
	if got := unprotected("third", w); len(got) != 1 || !strings.Contains(got[0], "port 81 requires TLS") {
		t.Errorf("got %q, want one warning for port 81", got)
	}
}
