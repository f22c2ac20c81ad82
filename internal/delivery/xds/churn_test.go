package xds

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// churnVariable sets the duration of TestChurn, for example 10m.
const churnVariable = "ANYMESH_XDS_CHURN"

// processUsage is the usage of resources that may leak.
type processUsage struct {
	goroutines, files int
	heap              uint64
}

func measureUsage(t *testing.T) processUsage {
	t.Helper()
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return processUsage{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// TestChurn connects and disconnects clients of both variants while resources are published, changed and removed.
// Afterwards the numbers of goroutines, files and bytes of heap are those of the start.
func TestChurn(t *testing.T) {
	lasts := 3 * time.Second
	if text := os.Getenv(churnVariable); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	r := startServer(t, authorizeByCommonName, Options{MaxStreamsPerMinute: 1e6, MaxStreamBurst: 1e6,
		MaxStreamsPerIdentity: 100, MaxConnectionsPerIdentity: 100})
	r.churn(t, time.Second) // creates everything that is created once
	before := measureUsage(t)
	rounds := r.churn(t, lasts)
	t.Logf("%d clients connected and disconnected", rounds)
	var after processUsage
	defer func() { t.Logf("before %+v, after %+v", before, after) }()
	eventually(t, "no resource leaks", func() bool {
		after = measureUsage(t)
		return after.goroutines <= before.goroutines && after.files <= before.files &&
			after.heap < before.heap+before.heap/4+1<<20
	})
	if n := len(r.groups.all()); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	if n := testutil.ToFloat64(r.metrics.streams); n != 0 {
		t.Errorf("the metric has %v streams", n)
	}
	if n := r.clientLimits.openCount(); n != 0 {
		t.Errorf("%d streams are counted", n)
	}
}

func (v *clientLimits) openCount() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for _, one := range v.byIdentity {
		n += one.streams + len(one.connections)
	}
	return n
}

// churn returns the number of clients.
func (r *testServer) churn(t *testing.T, lasts time.Duration) int {
	t.Helper()
	keys := []string{"blue", "red", "green"}
	deadline := time.Now().Add(lasts)
	var wg sync.WaitGroup
	counts := make([]int, 4)
	for worker := range counts {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 5))
			for ; time.Now().Before(deadline); counts[worker]++ {
				r.runClient(t, keys[rng.IntN(len(keys))], rng)
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(1, 6))
		all := shared(t)
		for round := 0; time.Now().Before(deadline); round++ {
			key := keys[rng.IntN(len(keys))]
			changed := one(ClusterType, fmt.Sprintf("c%d@%d", rng.IntN(20), round))
			switch rng.IntN(20) {
			case 0:
				r.Remove(key)
			case 1:
				r.Publish(key, snapshot(t, changed, one(EndpointType, changed.Name+"@1")), time.Time{})
			case 2:
				r.Publish(key, sharing(t, all), time.Time{})
			default:
				r.Update(all, &Update{
					Changed: []*Resource{changed}, Removed: []Ref{{ClusterType, fmt.Sprint("c", rng.IntN(20))}},
				}, time.Time{})
			}
			runtime.Gosched()
		}
	})
	wg.Wait()
	for _, key := range keys {
		r.Remove(key)
	}
	eventually(t, "all clients are disconnected",
		func() bool { return len(r.Clients()) == 0 && len(r.groups.all()) == 0 })
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// runClient runs one client of a random variant, which disconnects with or without having read.
func (r *testServer) runClient(t *testing.T, name string, rng *rand.Rand) {
	conn := r.newConn(t, r.ca.leaf(t, name, time.Hour))
	defer conn.Close()
	if rng.IntN(2) == 0 {
		c, err := openSotwClient(t.Context(), conn)
		if err != nil {
			t.Error(err)
			return
		}
		c.subscribe(ClusterType)
		c.subscribe(EndpointType, "c1", "c2")
		if rng.IntN(2) == 0 {
			c.wait(rng)
		}
		return
	}
	c := r.connectOn(t, conn)
	c.subscribe(ClusterType)
	c.subscribe(EndpointType, "c1", "c2")
	if rng.IntN(2) == 0 {
		for range rng.IntN(100) {
			runtime.Gosched()
			c.received()
		}
	}
}

// wait lets the client read for a short time.
func (c *sotwClient) wait(rng *rand.Rand) {
	for range rng.IntN(100) {
		runtime.Gosched()
		c.received()
	}
}
