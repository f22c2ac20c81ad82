package envoy

import (
	"fmt"
	"net/url"
	"strings"

	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
)

// kept are regular expressions for the metrics that the agent serves: those of the dashboard of the mesh, and those
// that tell why requests fail. They are a tenth of all: 40 of 400 kB with few routes. The port of the metrics has all.
var kept = []string{
	`vhost.+.route.+.upstream_rq_(total|time|timeout|retry|.xx)`,
	`http.(in|e)gress.*.downstream_(rq_(total|time|active|.xx)|cx_(total|active))`,
	`tcp.(in|e)gress.*.downstream_cx_(total|.x_bytes_total)`,
	`cluster.cds_.+.upstream_rq_(total|time|timeout|active|pending_overflow|retry|.xx)`,
	`cluster.cds_.+.upstream_cx_(total|active|overflow|connect_fail|.x_bytes_total)`,
	`cluster.cds_.+.(membership_(healthy|total)|outlier_detection.ejections_active)`,
	`(cluster.cds_|listener.).+.ssl.(handshake|connection_error|fail_verify_.+)`,
	`control_plane.connected_state`,
	`server.(live|uptime|memory_allocated|memory_heap_size)`,
}

// keptMetrics is a regular expression for the names of the metrics that the agent serves.
var keptMetrics = "^(" + strings.Join(kept, "|") + ")$"

// metricsURL is the URL of the metrics whose names match a regular expression.
func (p proxy) metricsURL(filter string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/stats/prometheus?filter=%s", p.statsPort(), url.QueryEscape(filter))
}

// routeTags make labels of the host names and of the routes. Those of Envoy end at the first dot of a host name. Envoy
// applies them only to names with the prefix before the first escaped dot.
func routeTags() []*metricsv3.TagSpecifier {
	tag := func(name, pattern string) *metricsv3.TagSpecifier {
		return &metricsv3.TagSpecifier{TagName: name, TagValue: &metricsv3.TagSpecifier_Regex{Regex: pattern}}
	}
	return []*metricsv3.TagSpecifier{
		tag("anymesh.service", `^vhost\.((.+?)\.)route\.`), tag("anymesh.route", `^vhost\..+?\.route\.(([^.]+)\.)`),
	}
}
