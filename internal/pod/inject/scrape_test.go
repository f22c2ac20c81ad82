package inject

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestScrapeAnnotations checks that Prometheus finds the agent, and that annotations of the application stay alone.
func TestScrapeAnnotations(t *testing.T) {
	agent := map[string]string{
		"other": "x", "prometheus.io/scrape": "true", "prometheus.io/port": "15020", "prometheus.io/path": "/metrics",
	}
	for name, c := range map[string]struct{ own, want map[string]string }{
		"none":     {map[string]string{"other": "x"}, agent},
		"off":      {map[string]string{"prometheus.io/scrape": "false"}, map[string]string{"prometheus.io/scrape": "false"}},
		"own port": {map[string]string{"prometheus.io/port": "80"}, map[string]string{"prometheus.io/port": "80"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Annotations = maps.Clone(c.own)
			addScrape(pod)
			if !maps.Equal(pod.Annotations, c.want) {
				t.Errorf("got %v, want %v", pod.Annotations, c.want)
			}
		})
	}
}
