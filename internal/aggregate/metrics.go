package aggregate

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/serverlimit"
)

const (
	refusedName          = "anymesh_aggregate_refused_total"
	writeWaitsName       = "anymesh_aggregate_write_waits_total"
	connectionErrorsName = "anymesh_aggregate_connection_errors_total"
)

// Values of the label reason of refusedName.
const (
	reasonAuthentications = "authentications"
	reasonReviewTimeout   = "review_timeout"
	reasonRequests        = "requests"
	reasonStreams         = "streams"
	reasonConversions     = "conversions"
	reasonRequestSize     = "request_size"
	reasonPatchOperations = "patch_operations"
	reasonAnswerSize      = "answer_size"
	reasonWriteTimeout    = "write_timeout"
	reasonCreate          = "create"
	reasonSlowClient      = string(serverlimit.Unread)
)

// metrics counts requests and connections that reach a limit.
type metrics struct {
	refused    *prometheus.CounterVec // reason
	writeWaits *prometheus.CounterVec // result
	// connectionErrors counts what the HTTP server logs.
	connectionErrors prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: refusedName,
			Help: "Requests and connections that were refused, that failed, or that were closed, because of a limit, by reason; " +
				"see docs/limits.md.",
		}, []string{"reason"}),
		writeWaits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: writeWaitsName,
			Help: "Writes that waited for the cache to have their result, by result: found, timeout.",
		}, []string{"result"}),
		connectionErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: connectionErrorsName,
			Help: "Connections to the aggregator that failed: TLS handshakes and requests that are not HTTP.",
		}),
	}
	for _, reason := range []string{
		reasonRequests, reasonStreams, reasonConversions, reasonRequestSize, reasonPatchOperations, reasonAnswerSize,
		reasonWriteTimeout, reasonCreate, reasonSlowClient, string(connlimit.Source), string(connlimit.Total),
		reasonAuthentications, reasonReviewTimeout, string(serverlimit.Handshake), string(serverlimit.Long),
		string(serverlimit.Slow), string(serverlimit.Frame), string(serverlimit.Streams),
	} {
		m.refused.WithLabelValues(reason)
	}
	for _, result := range []string{"found", "timeout"} {
		m.writeWaits.WithLabelValues(result)
	}
	return m
}

// collectors are all metrics.
func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.refused, m.writeWaits, m.connectionErrors}
}

// logConnections returns a logger for the HTTP server, which counts the errors of connections.
func (m *metrics) logConnections(to slog.Handler) *log.Logger {
	return log.New(countingWriter{m.connectionErrors, slog.NewLogLogger(to, slog.LevelDebug).Writer()}, "", 0)
}

// countingWriter counts the lines that it passes.
type countingWriter struct {
	lines prometheus.Counter
	to    io.Writer
}

// Write implements io.Writer.
func (w countingWriter) Write(line []byte) (int, error) {
	w.lines.Inc()
	return w.to.Write(line)
}

// refuse counts a request that reached a limit.
func (m *metrics) refuse(reason string) { m.refused.WithLabelValues(reason).Inc() }

// waited counts a write that waited for the cache, unless the client or the cluster went away.
func (m *metrics) waited(err error) {
	switch {
	case err == nil:
		m.writeWaits.WithLabelValues("found").Inc()
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err):
		m.writeWaits.WithLabelValues("timeout").Inc()
	}
}
