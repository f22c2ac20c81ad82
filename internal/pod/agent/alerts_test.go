package agent

import (
	"regexp"
	"testing"

	"anymesh.dev/anymesh/charts/alerts"
)

// TestAlertsUseExistingMetrics checks that alerts about agents use metrics and labels that the agent has.
func TestAlertsUseExistingMetrics(t *testing.T) {
	m := newMetrics()
	for _, result := range []string{"ok", "failed"} {
		m.certificates.WithLabelValues(result)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range families {
		known[f.GetName()] = true
		for _, sample := range f.GetMetric() {
			for _, l := range sample.GetLabel() {
				known[f.GetName()+l.GetValue()] = true
			}
		}
	}
	used := 0
	pattern := regexp.MustCompile(`(anymesh_agent_[a-z_]+)(?:\{result="([a-z]+)"\})?`)
	for _, a := range alerts.All() {
		for _, found := range pattern.FindAllStringSubmatch(a.Expr, -1) {
			used++
			if !known[found[1]+found[2]] {
				t.Errorf("alert %s: the agent has no metric %s", a.Name, found[0])
			}
		}
	}
	if used < 2 {
		t.Errorf("alerts use %d metrics of the agent", used)
	}
}
