package inject

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// bareDriver has a renderer without features.
type bareDriver struct {
	minimalDriver
	sidecar.Renderer
}

func (bareDriver) Supports() map[model.Feature]bool { return nil }

func init() { sidecar.Register("bare", bareDriver{}) }

// A pod whose driver has no TLS is created with a warning for each listener that requires TLS.
func TestUnprotectedListenersHaveWarnings(t *testing.T) {
	w := model.Workload{Listeners: []model.Listener{
		{Port: 80}, {Port: 81, TLS: &model.ServerTLS{Mode: model.TLSStrict}},
		{Port: 82, TLS: &model.ServerTLS{Mode: model.TLSPermissive}},
	}}
	if got := unprotected("bare", w); len(got) != 1 || !strings.Contains(got[0], "port 81 requires TLS") {
		t.Errorf("got %q, want one warning for port 81", got)
	}
	if got := unprotected("third", w); len(got) != 0 {
		t.Errorf("a driver without a renderer: got %q", got)
	}
}
