package cache

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Names of metrics that count how often a limit is reached.
const (
	ExpiredWatchesName = "anymesh_aggregate_expired_watches_total"
	RefusedReadsName   = "anymesh_aggregate_refused_reads_total"
	FailuresName       = "anymesh_aggregate_" + failures
	failures           = "failures_total"
)

// Reasons of refused reads, which are values of the label reason.
const (
	Expired    = "expired"     // 410
	NotReached = "not_reached" // 504
	Invalid    = "invalid"     // 400
)

// Collector returns the metrics of each kind in each cluster. The members and kinds of the cache limit the labels.
func (c *Cache) Collector() prometheus.Collector { return collector{c} }

type collector struct{ cache *Cache }

// metric is a value of a Status.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(Status) float64
}

func newMetric(name, help string, kind prometheus.ValueType, value func(Status) float64) metric {
	labels := []string{"cluster", "group", "version", "resource"}
	return metric{prometheus.NewDesc("anymesh_aggregate_"+name, help, labels, nil), kind, value}
}

var metrics = []metric{
	newMetric("objects", "Cached objects.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Objects) }),
	newMetric("object_bytes", "Memory of cached objects, without parts that objects share.", prometheus.GaugeValue,
		func(s Status) float64 { return float64(s.Bytes) }),
	newMetric("malformed_objects", "Objects that cannot be read, up to 100.", prometheus.GaugeValue,
		func(s Status) float64 { return float64(s.Malformed) }),
	newMetric("synced", "1 after the first list.", prometheus.GaugeValue,
		func(s Status) float64 { return number(s.Synced) }),
	newMetric("connected", "1 while a watch is open.", prometheus.GaugeValue,
		func(s Status) float64 { return number(s.Connected) }),
	newMetric("staleness_seconds", "Time since the watch was lost; 0 while it is open.", prometheus.GaugeValue,
		func(s Status) float64 {
			if s.DisconnectedSince.IsZero() {
				return 0
			}
			return time.Since(s.DisconnectedSince).Seconds()
		}),
	newMetric("watches_total", "Watches that were opened.", prometheus.CounterValue,
		func(s Status) float64 { return float64(s.Restarts) }),
	newMetric("relists_total", "Lists after the first.", prometheus.CounterValue,
		func(s Status) float64 { return float64(s.Relists) }),
	newMetric(failures, "Lists and watches that failed: the member does not answer in time, refuses them, or sends too much.",
		prometheus.CounterValue, func(s Status) float64 { return float64(s.Failures) }),
}

var expiredWatches = prometheus.NewDesc(ExpiredWatchesName,
	"Watches of clients that ended with 410 after their start: slow clients, and clusters that left or began again.",
	nil, nil)

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	out <- expiredWatches
	c.cache.refused.Describe(out)
	for _, m := range metrics {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(expiredWatches, prometheus.CounterValue, float64(c.cache.expired.Load()))
	c.cache.refused.Collect(out)
	for _, s := range c.cache.Status() {
		r := s.Resource
		for _, m := range metrics {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s), s.Cluster, r.Group, r.Version, r.Resource)
		}
	}
}

func newRefusedReads() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: RefusedReadsName,
		Help: "Reads that were refused because of their resource version, by reason: expired (410), not_reached (504), " +
			"invalid (400, like other parameters that are not valid).",
	}, []string{"reason"})
	for _, reason := range []string{Expired, NotReached, Invalid} {
		c.WithLabelValues(reason)
	}
	return c
}

// count counts the error of a read.
func (c *Cache) count(err error) {
	switch {
	case apierrors.IsResourceExpired(err):
		c.refused.WithLabelValues(Expired).Inc()
	case apierrors.IsTimeout(err):
		c.refused.WithLabelValues(NotReached).Inc()
	case apierrors.IsBadRequest(err):
		c.refused.WithLabelValues(Invalid).Inc()
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
