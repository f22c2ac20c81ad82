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

// churnVariable is how long clients come and go, for example 10m.
const churnVariable = "ANYMESH_XDS_CHURN"

// held is what a process has of what leaks.
type held struct {
	goroutines, files int
	heap              uint64
}

func hold(t *testing.T) held {
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
	return held{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// TestChurn: clients of both variants come and go while configuration is published, changed and removed; in the end goroutines, files
// and memory are where they were.
func TestChurn(t *testing.T) {
	lasts := 3 * time.Second
	if text := os.Getenv(churnVariable); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, byName, Options{StreamsPerMinute: 1e6, StreamBurst: 1e6, StreamsPerIdentity: 100, ConnectionsPerIdentity: 100})
	r.churn(t, time.Second) // what is made once is made
	before := hold(t)
	rounds := r.churn(t, lasts)
	t.Logf("%d clients came and went", rounds)
	var after held
	defer func() { t.Logf("before %+v, after %+v", before, after) }()
	eventually(t, "all is as it was", func() bool {
		after = hold(t)
		return after.goroutines <= before.goroutines && after.files <= before.files && after.heap < before.heap+before.heap/4+1<<20
	})
	if n := len(r.groups.all()); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	if n := testutil.ToFloat64(r.metrics.clients); n != 0 {
		t.Errorf("the metric says %v clients", n)
	}
	if n := r.visitors.open(); n != 0 {
		t.Errorf("%d streams are counted", n)
	}
}

func (v *visitors) open() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for _, one := range v.byIdentity {
		n += one.streams + len(one.connections)
	}
	return n
}

// churn returns how many clients there were.
func (r *running) churn(t *testing.T, lasts time.Duration) int {
	t.Helper()
	keys := []string{"blue", "red", "green"}
	deadline := time.Now().Add(lasts)
	var wg sync.WaitGroup
	counts := make([]int, 4)
	for worker := range counts {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 5))
			for ; time.Now().Before(deadline); counts[worker]++ {
				r.visit(t, keys[rng.IntN(len(keys))], rng)
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(1, 6))
		for round := 0; time.Now().Before(deadline); round++ {
			key := keys[rng.IntN(len(keys))]
			changed := one(ClusterType, fmt.Sprintf("c%d@%d", rng.IntN(20), round))
			switch rng.IntN(20) {
			case 0:
				r.Remove(key)
			case 1:
				r.Publish(key, snapshot(t, changed, one(EndpointType, changed.Name+"@1")), time.Time{})
			default:
				r.Update(key, []*Resource{changed}, []Ref{{ClusterType, fmt.Sprint("c", rng.IntN(20))}}, time.Time{})
			}
			runtime.Gosched()
		}
	})
	wg.Wait()
	for _, key := range keys {
		r.Remove(key)
	}
	eventually(t, "all are gone", func() bool { return len(r.Clients()) == 0 && len(r.groups.all()) == 0 })
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// visit is one client, of either variant, that leaves after a while, with or without having read.
func (r *running) visit(t *testing.T, name string, rng *rand.Rand) {
	conn := r.newConn(t, r.ca.leaf(t, name, time.Hour))
	defer conn.Close()
	if rng.IntN(2) == 0 {
		c := newWorldClient(t, conn)
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

// wait lets a client read for a moment.
func (c *worldClient) wait(rng *rand.Rand) {
	for range rng.IntN(100) {
		runtime.Gosched()
		c.received()
	}
}
