package delivery

import "github.com/prometheus/client_golang/prometheus"

// Register registers the metrics of the deliverer. The registerer must add a label with the driver.
func (d *Deliverer) Register(r prometheus.Registerer) {
	gauge := func(name, help string, size func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "anymesh_delivery_" + name, Help: help},
			func() float64 {
				d.mu.Lock()
				defer d.mu.Unlock()
				return float64(size())
			})
	}
	r.MustRegister(
		gauge("workloads", "Workloads with a view.", func() int { return len(d.workloads) }),
		gauge("outbound_views", "Outbound views; each is rendered once for all workloads with the same backends.",
			func() int { return len(d.outbound) }),
		gauge("destinations", "Rendered destinations; each is rendered once for all workloads with clients.", func() int {
			return len(d.destinations)
		}),
		gauge("rejected", "Resources that a connected sidecar rejected.", func() int { return len(d.rejected.all()) }),
		d.rendered)
}

func newRendered() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "anymesh_delivery_rendered_total", Help: "Renderings of views, outbound views and destinations.",
	}, []string{"what"})
}
