// Package requestrates computes the rates of requests of a sidecar.
//
// In: two texts of metrics of the same sidecar, in the Prometheus format, and the time between them. Out: requests per
// second to each service.
package requestrates

import (
	"bytes"
	"fmt"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"anymesh.dev/anymesh/sidecar"
)

// ServiceLabel is the label of metrics with the name of the service.
const ServiceLabel = "anymesh_service"

// Rate is the rate of requests.
type Rate struct {
	// PerSecond counts all requests, FailedPerSecond those with status 5xx.
	PerSecond       float64 `json:"perSecond"`
	FailedPerSecond float64 `json:"failedPerSecond,omitempty"`
}

// Add adds a rate.
func (r Rate) Add(other Rate) Rate {
	return Rate{r.PerSecond + other.PerSecond, r.FailedPerSecond + other.FailedPerSecond}
}

// String returns, for example, "12 req/s, 3% failed".
func (r Rate) String() string {
	text := fmt.Sprintf("%.3g req/s", r.PerSecond)
	if r.FailedPerSecond > 0 && r.PerSecond > 0 {
		text += fmt.Sprintf(", %.2g%% failed", 100*r.FailedPerSecond/r.PerSecond)
	}
	return text
}

// Counts are the requests to each service since the sidecar started.
type Counts map[string]Rate

// Parse reads the counters of a sidecar.
func Parse(text []byte, of sidecar.RequestCounter) (Counts, error) {
	metric, status := of.RequestCounter()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	out := Counts{}
	for _, m := range families[metric].GetMetric() {
		value := m.GetCounter().GetValue()
		one := Rate{PerSecond: value}
		if label(m, status) == "5" {
			one.FailedPerSecond = value
		}
		service := label(m, ServiceLabel)
		out[service] = out[service].Add(one)
	}
	return out, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// Between returns the rates between two counts. A sidecar that restarted between them counts from its start.
func Between(before, after Counts, elapsed time.Duration) map[string]Rate {
	out := map[string]Rate{}
	for service, now := range after {
		then := before[service]
		if now.PerSecond < then.PerSecond || now.FailedPerSecond < then.FailedPerSecond {
			then = Rate{}
		}
		out[service] = Rate{
			PerSecond:       (now.PerSecond - then.PerSecond) / elapsed.Seconds(),
			FailedPerSecond: (now.FailedPerSecond - then.FailedPerSecond) / elapsed.Seconds(),
		}
	}
	return out
}
