package xds

import (
	"errors"

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
	kinds     [len(labels)]*kindMetrics // by stepOf
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
		answers:   counter("answers_total", "Clients' answers: ack, nack, unknown for a nonce that is not awaited, or none that was awaited long enough.", "type", "result"),
		refused:   counter("refused_total", "Connections, streams and requests refused, by reason; see the table of limits.", "reason"),
		ended:     counter("ended_total", "Streams ended by the server, by reason: slow, silent, expired, removed, request.", "reason"),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "anymesh_xds_ack_seconds",
			Help:    "Time from the event that made a change, or from subscribing, until a client acknowledged it.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	if reg != nil {
		reg.MustRegister(m.clients, m.responses, m.resources, m.bytes, m.shared, m.answers, m.refused, m.ended, m.latency)
	}
	for _, reason := range refusals { // so that they are there before the first one is
		m.refused.WithLabelValues(reason)
	}
	for _, reason := range ends {
		m.ended.WithLabelValues(reason)
	}
	for step, name := range labels {
		m.kinds[step] = m.kind(name)
	}
	return m
}

// kindMetrics are the counters of one type, looked up once.
type kindMetrics struct {
	responses, updated, removed, bytes, shared prometheus.Counter
	acks, nacks, unknown, none                 prometheus.Counter
}

func (m *metrics) kind(name string) *kindMetrics {
	return &kindMetrics{
		responses: m.responses.WithLabelValues(name), bytes: m.bytes.WithLabelValues(name), shared: m.shared.WithLabelValues(name),
		updated: m.resources.WithLabelValues(name, "updated"), removed: m.resources.WithLabelValues(name, "removed"),
		acks: m.answers.WithLabelValues(name, "ack"), nacks: m.answers.WithLabelValues(name, "nack"),
		unknown: m.answers.WithLabelValues(name, "unknown"), none: m.answers.WithLabelValues(name, "none"),
	}
}

func (m *metrics) of(typeURL string) *kindMetrics { return m.kinds[stepOf(typeURL)] }

func (m *metrics) sent(r *response, size int) {
	k := m.of(r.typeURL)
	k.responses.Inc()
	k.updated.Add(float64(len(r.holds())))
	if n := len(r.removed); n > 0 {
		k.removed.Add(float64(n))
	}
	k.bytes.Add(float64(size))
	if r.impatient {
		k.none.Inc()
	}
	shared := 0
	for _, c := range r.holds() {
		if c.written.Load() || c.written.Swap(true) {
			shared += len(c.wire)
		}
	}
	if shared > 0 {
		k.shared.Add(float64(shared))
	}
}

// refuse counts a limit that was met; open is whether it ended a stream that was.
func (m *metrics) refuse(err error, open bool) {
	var r *refusal
	if !errors.As(err, &r) {
		return
	}
	m.refused.WithLabelValues(r.reason).Inc()
	if open {
		m.ended.WithLabelValues(reasonRequest).Inc()
	}
}

// end counts why a stream ended.
func (m *metrics) end(err error) {
	switch {
	case errors.Is(err, errRemoved), errors.Is(err, errMoved):
		m.ended.WithLabelValues(reasonRemoved).Inc()
	case errors.Is(err, errExpired):
		m.ended.WithLabelValues(reasonExpired).Inc()
	case errors.Is(err, errSlow):
		m.ended.WithLabelValues(reasonSlow).Inc()
	}
}
