package native

import (
	"fmt"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// RequestCounter implements sidecar.RequestCounter.
func (Driver) RequestCounter() (metric, statusLabel string) { return "route_responses_total", "class" }

// admin returns the settings of the process: the access log. Operators of its format that are not supported have a
// finding, and "-" is written for them.
func (r *renderer) admin(log *model.AccessLog) *config.Admin {
	out := &config.Admin{}
	if log == nil {
		return out
	}
	format := func(text string) string {
		supported, unsupported := config.SupportedLogFormat(text)
		if len(unsupported) > 0 {
			r.findings = append(r.findings, model.NewFinding(log.Origin, model.CodeNotSupported, fmt.Sprintf(
				"driver native does not support %s of access logs, and writes a dash", strings.Join(unsupported, ", "))))
		}
		return supported
	}
	if log.Text != "" {
		out.AccessLogText = format(log.Text)
	}
	for _, f := range log.Fields {
		out.AccessLogFields = append(out.AccessLogFields, config.LogField{Key: f.Key, Value: format(f.Value)})
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
