package agent

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"anymesh.dev/anymesh/internal/pod/dns"
)

type metrics struct {
	registry     *prometheus.Registry
	certificates *prometheus.CounterVec // result
	expiry       prometheus.Gauge
	probes       *prometheus.CounterVec // kind, result
	refused      *prometheus.CounterVec // reason
	restarts     prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		certificates: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_agent_certificates_total", Help: "Requested certificates, by result: ok, failed.",
		}, []string{"result"}),
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "anymesh_agent_certificate_expiry_timestamp_seconds",
			Help: "Expiry of the current certificate, in Unix time.",
		}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_agent_probes_total",
			Help: "Probes of the application performed for kubelet, by kind and result: ok, failed.",
		}, []string{"kind", "result"}),
	}
	m.restarts = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "anymesh_agent_proxy_restarts_total", Help: "How often the agent started a proxy again that was killed.",
	})
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "anymesh_agent_refused_total",
		Help: "Connections and requests that the agent refused, by reason: source_connections, source_rate, total_connections, scrapes, " +
			"header_size, header_timeout, slow_client (the response was not read in time), ready_wait (the proxy was not ready in time), names (too many DNS names wait for their addresses).",
	}, []string{"reason"})
	m.registry.MustRegister(m.certificates, m.expiry, m.probes, m.refused, m.restarts,
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{Namespace: "anymesh_agent"}))
	return m
}

// registerDNS adds the counters of the DNS server.
func (m *metrics) registerDNS(counts func() dns.Counts) {
	for result, value := range map[string]func(dns.Counts) uint64{
		"answered":  func(c dns.Counts) uint64 { return c.Answered },
		"forwarded": func(c dns.Counts) uint64 { return c.Forwarded },
		"failed":    func(c dns.Counts) uint64 { return c.Failed },
		"dropped":   func(c dns.Counts) uint64 { return c.Dropped },
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "anymesh_agent_dns_questions_total",
			Help: "DNS questions of the application, by result: answered with a name of the mesh, forwarded to the " +
				"cluster's DNS, failed, dropped.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(value(counts())) }))
	}
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "anymesh_agent_dns_pauses_total",
		Help: "How often a TCP connection with many DNS questions in flight was not read.",
	}, func() float64 { return float64(counts().Paused) }))
}
