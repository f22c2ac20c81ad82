package xds

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func (i *interned) len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.byKey)
}

func TestEqualResourcesAreOneCopy(t *testing.T) {
	a, b := text(ClusterType, "a", "1"), text(ClusterType, "a", "1")
	if a != b {
		t.Error("two copies of one resource")
	}
	for what, other := range map[string]*Resource{
		"another name": text(ClusterType, "b", "1"), "another type": text(RouteType, "a", "1"), "another content": text(ClusterType, "a", "2"),
	} {
		if other == a {
			t.Errorf("%s is the same resource", what)
		}
	}
	if c := newResource("a", ClusterType, append([]byte(nil), a.Body()...)); c != a {
		t.Error("where the bytes come from makes a difference")
	}
}

func TestResourcesThatNobodyHasAreForgotten(t *testing.T) {
	before := shared.len()
	kept := text(ClusterType, "kept", "1")
	for i := range 1000 {
		text(ClusterType, "dropped", strconv.Itoa(i))
	}
	eventually(t, "all but one are forgotten", func() bool {
		runtime.GC()
		return shared.len() <= before+1
	})
	if text(ClusterType, "kept", "1") != kept {
		t.Error("what is in use was forgotten")
	}
}

// Workloads that reach the same destination write the same bytes, and the metric says how many that saves.
func TestSharedBytesAreCounted(t *testing.T) {
	r := start(t, byName, Options{})
	big := string(make([]byte, 10_000))
	r.Publish("blue", snapshot(t, text(ClusterType, "both reach it", big)), time.Time{})
	r.Publish("red", snapshot(t, text(ClusterType, "both reach it", big)), time.Time{})
	count := func() float64 { return testutil.ToFloat64(r.metrics.shared.WithLabelValues("cluster")) }
	for _, name := range []string{"blue", "red", "blue"} {
		c := r.connect(t, name)
		c.subscribe(ClusterType)
		eventually(t, name+" is served", func() bool { return len(c.has(ClusterType)) == 1 })
	}
	eventually(t, "two of three copies are shared ones", func() bool { return count() > 20_000 && count() < 21_000 })
}
