package cache_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// gauge returns the value of a metric of a cluster, or without labels if the cluster is empty.
func gauge(t *testing.T, r *prometheus.Registry, name, cluster string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.Metric {
			if family.GetName() == name && (len(m.Label) == 0 || m.Label[0].GetValue() == cluster) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s of cluster %s", name, cluster)
	return 0
}

func TestMetricsSayWhatEachClusterHas(t *testing.T) {
	f := twoPods(t)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(f.Collector())
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	if n := gauge(t, r, "anymesh_aggregate_objects", "c1"); n != 1 {
		t.Errorf("%v objects", n)
	}
	if n := gauge(t, r, "anymesh_aggregate_object_bytes", "c2"); n < 100 {
		t.Errorf("%v bytes", n)
	}
	f.members[1].Set(membertest.Faults{Unreachable: true})
	eventually(t, func() error {
		connected := gauge(t, r, "anymesh_aggregate_connected", "c2")
		if stale := gauge(t, r, "anymesh_aggregate_staleness_seconds", "c2"); connected != 0 || stale <= 0 {
			return fmt.Errorf("connected %v, staleness %v", connected, stale)
		}
		return nil
	})
	if stale := gauge(t, r, "anymesh_aggregate_staleness_seconds", "c1"); stale != 0 {
		t.Errorf("staleness of a connected cluster is %v", stale)
	}
	f.joined[1] = false
	f.configure()
	if got, _ := next(); got != "ERROR" {
		t.Error(got)
	}
	if n := gauge(t, r, "anymesh_aggregate_expired_watches_total", ""); n != 1 {
		t.Errorf("%v expired watches", n)
	}
}
