package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics tell how much the flow has to do, and how long it takes.
type metrics struct {
	events, changes     prometheus.Counter
	wait, sync, deliver prometheus.Histogram
}

func newMetrics() *metrics {
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "anymesh_engine_" + name + "_seconds", Help: help, Buckets: prometheus.ExponentialBuckets(0.00005, 3, 12),
		})
	}
	return &metrics{
		events:  prometheus.NewCounter(prometheus.CounterOpts{Name: "anymesh_engine_events_total", Help: "Events about objects."}),
		changes: prometheus.NewCounter(prometheus.CounterOpts{Name: "anymesh_engine_changes_total", Help: "Changes that events made; one takes together what came while another was made."}),
		wait:    histogram("wait", "Time from the first event of a change until work on it began."),
		sync:    histogram("sync", "Time to bring the mesh up to date."),
		deliver: histogram("deliver", "Time to render and publish what changed."),
	}
}

// Register adds the flow's metrics to a registry.
func (e *Engine) Register(r prometheus.Registerer) {
	r.MustRegister(e.metrics.events, e.metrics.changes, e.metrics.wait, e.metrics.sync, e.metrics.deliver,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "anymesh_engine_pending_events", Help: "Events that wait to be taken into a change."}, func() float64 {
			e.mu.Lock()
			defer e.mu.Unlock()
			return float64(len(e.pending))
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "anymesh_engine_evaluations_total", Help: "Evaluations of rules: the work that changes made."}, func() float64 {
			e.stateMu.RLock()
			defer e.stateMu.RUnlock()
			return float64(e.state.graph.Evaluations())
		}))
}

func (m *metrics) observe(c Change, done time.Time) {
	m.events.Add(float64(c.Events))
	m.changes.Inc()
	if !c.Since.IsZero() {
		m.wait.Observe(c.Started.Sub(c.Since).Seconds())
	}
	m.sync.Observe(c.Synced.Sub(c.Started).Seconds())
	m.deliver.Observe(done.Sub(c.Synced).Seconds())
}
