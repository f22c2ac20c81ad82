package agent

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// listenersHealthy returns an error if a listener of the proxy fails its health check. While the proxy does not answer,
// the last answer applies: a slow answer does not make a pod not ready whose listeners are healthy.
func (a *agent) listenersHealthy(ctx context.Context) error {
	if a.HealthURL == "" {
		return nil
	}
	if failing, err := a.failingListeners(ctx); err != nil {
		a.Logger.Debug("health of listeners not available", "error", err)
	} else {
		a.failing.Store(failing)
	}
	if failing, _ := a.failing.Load().(string); failing != "" {
		return fmt.Errorf("listeners of the proxy fail their health check: %s", failing)
	}
	return nil
}

// failingListeners returns the labels of the gauges with the value 0.
func (a *agent) failingListeners(ctx context.Context) (string, error) {
	response, err := a.get(ctx, a.HealthURL)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s returned %s", a.HealthURL, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(response.Body, maxMetricsSize))
	if err != nil {
		return "", fmt.Errorf("%s: %w", a.HealthURL, err)
	}
	var failing []string
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, m := range families[name].GetMetric() {
			if m.Gauge != nil && m.GetGauge().GetValue() == 0 {
				failing = append(failing, labels(m))
			}
		}
	}
	return strings.Join(failing, ", "), nil
}

// labels returns the labels of a metric: "{name=\"value\"}".
func labels(m *dto.Metric) string {
	var out []string
	for _, l := range m.GetLabel() {
		out = append(out, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	return "{" + strings.Join(out, ",") + "}"
}
