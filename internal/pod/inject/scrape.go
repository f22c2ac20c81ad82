package inject

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// scrapePrefix begins the annotations by which a Prometheus with the usual discovery of pods finds metrics.
const scrapePrefix = "prometheus.io/"

// addScrape makes Prometheus scrape the agent, which serves the metrics of the proxy, too. A pod has one such target:
// annotations of the application stay.
func addScrape(pod *corev1.Pod) {
	for name := range pod.Annotations {
		if strings.HasPrefix(name, scrapePrefix) {
			return
		}
	}
	pod.Annotations[scrapePrefix+"scrape"] = "true"
	pod.Annotations[scrapePrefix+"port"] = strconv.Itoa(sidecar.AgentPort)
	pod.Annotations[scrapePrefix+"path"] = "/metrics"
}
