package xds

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
)

// metrics of the server. All labels have fixed sets of values.
type metrics struct {
	streams    prometheus.Gauge
	responses  *prometheus.CounterVec // type
	resources  *prometheus.CounterVec // type, change
	bytes      *prometheus.CounterVec // type
	shared     *prometheus.CounterVec // type
	acks       *prometheus.CounterVec // type, result
	refused    *prometheus.CounterVec // reason
	closed     *prometheus.CounterVec // reason
	ackLatency prometheus.Histogram
	byStep     [len(typeLabels)]*typeMetrics // indexed by stepOf
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "anymesh_xds_" + name, Help: help}, labels)
	}
	m := &metrics{
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "anymesh_xds_streams", Help: "Open and authorized ADS streams.",
		}),
		responses: counter("responses_total", "Responses sent.", "type"),
		resources: counter("resources_total", "Resources in sent responses, by change: updated or removed.", "type",
			"change"),
		bytes: counter("sent_bytes_total", "Bytes of sent responses, before TLS.", "type"),
		shared: counter("shared_bytes_total",
			"Bytes of sent resources that were encoded earlier, for another response or client.", "type"),
		acks: counter("acks_total",
			"Responses by result: ack, nack, timeout (none within AckTimeout), unknown_nonce (response is not in flight).", "type", "result"),
		refused: counter("refused_total",
			"Refused connections, streams and requests, by reason; see docs/limits.md.", "reason"),
		closed: counter("closed_streams_total", "Streams closed by the server, by reason; see docs/limits.md.",
			"reason"),
		ackLatency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "anymesh_xds_ack_latency_seconds",
			Help:    "Time from the event behind a change, or from the subscription, until the ACK of the client.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	if reg != nil {
		reg.MustRegister(m.streams, m.responses, m.resources, m.bytes, m.shared, m.acks, m.refused, m.closed,
			m.ackLatency)
	}
	for _, reason := range refusedReasons { // create the series before the first event
		m.refused.WithLabelValues(reason)
	}
	for _, reason := range closedReasons {
		m.closed.WithLabelValues(reason)
	}
	for step, name := range typeLabels {
		m.byStep[step] = m.newTypeMetrics(name)
	}
	return m
}

// registerSizes registers the sizes that MaxSubscriptionSize and MaxUnfinished limit.
func registerSizes(reg prometheus.Registerer, subscriptions, unfinished *atomic.Int64) {
	if reg == nil {
		return
	}
	gauge := func(name, help string, value *atomic.Int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "anymesh_xds_" + name, Help: help},
			func() float64 { return float64(value.Load()) })
	}
	reg.MustRegister(gauge("subscription_bytes", "Size of the subscriptions of all clients; see docs/limits.md.",
		subscriptions), gauge("unfinished_bytes", "Bytes of incomplete requests of all clients; see docs/limits.md.", unfinished))
}

// typeMetrics holds the counters of one type.
type typeMetrics struct {
	responses, updated, removed, bytes, shared prometheus.Counter
	acks, nacks, unknownNonces, ackTimeouts    prometheus.Counter
}

func (m *metrics) newTypeMetrics(name string) *typeMetrics {
	return &typeMetrics{
		responses: m.responses.WithLabelValues(name), bytes: m.bytes.WithLabelValues(name),
		shared:  m.shared.WithLabelValues(name),
		updated: m.resources.WithLabelValues(name, "updated"), removed: m.resources.WithLabelValues(name, "removed"),
		acks: m.acks.WithLabelValues(name, "ack"), nacks: m.acks.WithLabelValues(name, "nack"),
		unknownNonces: m.acks.WithLabelValues(name, "unknown_nonce"),
		ackTimeouts:   m.acks.WithLabelValues(name, "timeout"),
	}
}

func (m *metrics) forType(typeURL string) *typeMetrics { return m.byStep[stepOf(typeURL)] }

func (m *metrics) sent(r *response, size int) {
	k := m.forType(r.typeURL)
	k.responses.Inc()
	k.updated.Add(float64(len(r.sentResources())))
	if n := len(r.removed); n > 0 {
		k.removed.Add(float64(n))
	}
	k.bytes.Add(float64(size))
	if r.afterAckTimeout {
		k.ackTimeouts.Inc()
	}
	if r.shared > 0 {
		k.shared.Add(float64(r.shared))
	}
}

// countRefusal counts an exceeded limit. open is true if the stream was authorized, so that the error closes it.
func (m *metrics) countRefusal(err error, open bool) {
	var r *refusal
	if !errors.As(err, &r) {
		return
	}
	m.refused.WithLabelValues(r.reason).Inc()
	if open {
		m.closed.WithLabelValues(reasonInvalidRequest).Inc()
	}
}

// countClose counts a stream that the server closes.
func (m *metrics) countClose(err error) {
	switch {
	case errors.Is(err, errRemoved), errors.Is(err, errReconnect):
		m.closed.WithLabelValues(reasonRemoved).Inc()
	case errors.Is(err, errExpired):
		m.closed.WithLabelValues(reasonCertificateExpired).Inc()
	case errors.Is(err, grpcserver.ErrMaxConnectionAge):
		m.closed.WithLabelValues(reasonMaxConnectionAge).Inc()
	case errors.Is(err, grpcserver.ErrShutdown):
		m.closed.WithLabelValues(reasonShutdown).Inc()
	case errors.Is(err, errSendTimeout):
		m.closed.WithLabelValues(reasonSendTimeout).Inc()
	}
}
