package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics measure the load of the engine and the latency of its stages.
type metrics struct {
	events, changes     prometheus.Counter
	failures            prometheus.Counter
	wait, sync, deliver prometheus.Histogram
}

func newMetrics() *metrics {
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "anymesh_engine_" + name + "_seconds", Help: help,
			Buckets: prometheus.ExponentialBuckets(0.00005, 3, 12),
		})
	}
	return &metrics{
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "anymesh_engine_events_total", Help: "Object events received.",
		}),
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "anymesh_engine_changes_total",
			Help: "Changes of the mesh. One change coalesces the events that arrive during the previous one.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "anymesh_engine_failed_evaluations_total",
			Help: "Rule evaluations that ended with a panic. The last good result stays in use, and the log has the stack.",
		}),
		wait:    histogram("wait", "Time from the first event of a change to the start of its sync."),
		sync:    histogram("sync", "Time to update the mesh."),
		deliver: histogram("deliver", "Time to render and publish a change."),
	}
}

// Register registers the metrics of the engine.
func (e *Engine) Register(r prometheus.Registerer) {
	r.MustRegister(e.metrics.events, e.metrics.changes, e.metrics.failures, e.metrics.wait, e.metrics.sync,
		e.metrics.deliver,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "anymesh_engine_pending_events", Help: "Events that wait for the next sync.",
		}, func() float64 {
			e.mu.Lock()
			defer e.mu.Unlock()
			return float64(len(e.pending))
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "anymesh_engine_evaluations_total", Help: "Rule evaluations caused by changes.",
		}, func() float64 {
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
