package xds

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics have labels from fixed sets only.
type metrics struct {
	clients   prometheus.Gauge
	responses *prometheus.CounterVec // type
	resources *prometheus.CounterVec // type, change
	bytes     *prometheus.CounterVec // type
	shared    *prometheus.CounterVec // type
	answers   *prometheus.CounterVec // type, result
	refused   *prometheus.CounterVec // reason
	ended     *prometheus.CounterVec // reason
	latency   prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "anymesh_xds_" + name, Help: help}, labels)
	}
	m := &metrics{
		clients: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "anymesh_xds_clients", Help: "Streams that were authorised and are open.",
		}),
		responses: counter("responses_total", "Responses sent.", "type"),
		resources: counter("resources_total", "Resources in responses, by change: updated or removed.", "type", "change"),
		bytes:     counter("sent_bytes_total", "Bytes of responses sent, before compression and TLS.", "type"),
		shared:    counter("shared_bytes_total", "Bytes of resources sent that were not encoded for it: another client got the same copy before.", "type"),
		answers:   counter("answers_total", "Clients' answers: ack, nack, or unknown for a nonce that is not awaited.", "type", "result"),
		refused:   counter("refused_total", "Streams refused, by reason: denied, streams, request.", "reason"),
		ended:     counter("ended_total", "Streams ended by the server, by reason: slow, silent, expired, removed, request.", "reason"),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "anymesh_xds_ack_seconds",
			Help:    "Time from a change being published, or subscribed to, until a client acknowledged it.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	if reg != nil {
		reg.MustRegister(m.clients, m.responses, m.resources, m.bytes, m.shared, m.answers, m.refused, m.ended, m.latency)
	}
	return m
}

func (m *metrics) sent(r *response, size int) {
	kind := label(r.typeURL)
	m.responses.WithLabelValues(kind).Inc()
	m.resources.WithLabelValues(kind, "updated").Add(float64(len(r.changed)))
	m.resources.WithLabelValues(kind, "removed").Add(float64(len(r.removed)))
	m.bytes.WithLabelValues(kind).Add(float64(size))
	shared := 0
	for _, c := range r.changed {
		if c.written.Load() || c.written.Swap(true) {
			shared += len(c.wire)
		}
	}
	m.shared.WithLabelValues(kind).Add(float64(shared))
}
