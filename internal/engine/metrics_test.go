package engine

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	f, registry := New(discardLog, dialects, Settings{}), prometheus.NewPedanticRegistry()
	f.Register(registry)
	f.Set(mesh())
	f.Sync()
	f.Set(node("a"))
	f.Set(node("b"))
	f.Set(node("b"))
	want := `
# HELP anymesh_engine_pending_events Events that wait for the next sync.
# TYPE anymesh_engine_pending_events gauge
anymesh_engine_pending_events 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"anymesh_engine_pending_events"); err != nil {
		t.Error(err)
	}
	f.Sync()
	want = `
# HELP anymesh_engine_changes_total Changes of the mesh. One change coalesces the events that arrive during the previous one.
# TYPE anymesh_engine_changes_total counter
anymesh_engine_changes_total 2
# HELP anymesh_engine_events_total Object events received.
# TYPE anymesh_engine_events_total counter
anymesh_engine_events_total 3
# HELP anymesh_engine_pending_events Events that wait for the next sync.
# TYPE anymesh_engine_pending_events gauge
anymesh_engine_pending_events 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "anymesh_engine_pending_events",
		"anymesh_engine_events_total", "anymesh_engine_changes_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 8 {
		t.Errorf("got %d series (error %v)", n, err)
	}
}
