package xds

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func (i *internTable) len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.byKey)
}

func TestEqualResourcesShareOneCopy(t *testing.T) {
	a, b := text(ClusterType, "a", "1"), text(ClusterType, "a", "1")
	if a != b {
		t.Error("two copies of one resource")
	}
	for what, other := range map[string]*Resource{
		"another name": text(ClusterType, "b", "1"), "another type": text(RouteType, "a", "1"),
		"another content": text(ClusterType, "a", "2"),
	} {
		t.Run(what, func(t *testing.T) {
			if other == a {
				t.Error("different resources share one copy")
			}
		})
	}
	if c := newResource("a", ClusterType, append([]byte(nil), a.Body()...)); c != a {
		t.Error("equal bytes give another resource")
	}
}

func TestUnusedResourcesAreFreed(t *testing.T) {
	before := internedResources.len()
	kept := text(ClusterType, "kept", "1")
	for i := range 1000 {
		text(ClusterType, "dropped", strconv.Itoa(i))
	}
	eventually(t, "all except one are freed", func() bool {
		runtime.GC()
		return internedResources.len() <= before+1
	})
	if text(ClusterType, "kept", "1") != kept {
		t.Error("a resource in use was freed")
	}
}

// Workloads with the same destination share the encoded bytes, and the metric counts them.
func TestSharedBytesMetric(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	big := string(make([]byte, 10_000))
	r.Publish("blue", snapshot(t, text(ClusterType, "both reach it", big)), time.Time{})
	r.Publish("red", snapshot(t, text(ClusterType, "both reach it", big)), time.Time{})
	count := func() float64 { return testutil.ToFloat64(r.metrics.shared.WithLabelValues("cluster")) }
	for _, name := range []string{"blue", "red", "blue"} {
		c := r.connect(t, name)
		c.subscribe(ClusterType)
		eventually(t, name+" is served", func() bool { return len(c.has(ClusterType)) == 1 })
	}
	eventually(t, "two of three copies are shared", func() bool { return count() > 20_000 && count() < 21_000 })
}
