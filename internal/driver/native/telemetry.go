package native

import (
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// RequestCounter implements sidecar.RequestCounter.
func (Driver) RequestCounter() (metric, statusLabel string) { return "route_responses_total", "class" }

// admin returns the settings of the process: the access log. A format of its own is not supported, and has a finding.
func admin(log *model.AccessLog) *config.Admin {
	out := &config.Admin{}
	if log == nil || log.Text != "" || len(log.Fields) > 0 {
		return out
	}
	switch log.Path {
	case model.LogOutput:
		out.AccessLogPath = "stdout"
	case model.LogErrors:
		out.AccessLogPath = "stderr"
	default:
		out.AccessLogPath = sidecar.AccessLogFile // the agent links it
	}
	return out
}
