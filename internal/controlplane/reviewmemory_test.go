package controlplane

import (
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/objects/admission"
)

// peakGrowth returns by how many MiB the heap grows at most while f runs. It has garbage that is not collected yet.
func peakGrowth(f func()) float64 {
	debug.FreeOSMemory()
	before, peak := heapSize(), 0.0
	ended, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		ticks := time.NewTicker(time.Millisecond)
		defer ticks.Stop()
		for {
			peak = max(peak, heapSize()-before)
			select {
			case <-ended:
				return
			case <-ticks.C:
			}
		}
	}()
	f()
	close(ended)
	<-sampled
	return peak
}

// heapSize returns the size of the objects on the heap, in MiB.
func heapSize() float64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64()) / (1 << 20)
}

// hostilePods are bodies of reviews of pods that are expensive to decode, each about as large as its limits allow.
func hostilePods(size, values int) map[string]string {
	of := func(meta, spec string) string {
		return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "namespace": "a", "operation": "CREATE",
			"object": {"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":{"app":"front"}` + meta + `},"spec":{` + spec + `}}}}`
	}
	var annotations strings.Builder
	for i := range values/2 - 20 { // a name and a value each
		annotations.WriteString(`"k` + strconv.Itoa(i) + `":"",`)
	}
	const app = `"containers":[{"name":"app"}]`
	return map[string]string{
		"long string": of(`,"annotations":{"a":"`+strings.Repeat("x", size)+`"}`, app),
		"containers":  of("", `"containers":[`+strings.Repeat("{},", values/2-20)+`{"name":"app"}]`),
		"annotations": of(`,"annotations":{`+annotations.String()+`"z":""}`, app),
	}
}

// flood posts a body 60 times at once, and returns how many have the status 200.
func flood(t *testing.T, from, address, body string) (answered int) {
	var all sync.WaitGroup
	var mu sync.Mutex
	client := reviewer(t, from)
	for range 60 {
		all.Go(func() {
			response, err := client.Post("https://"+address+"/mutate-v1-pod", "application/json", strings.NewReader(body))
			if err != nil {
				return
			}
			defer response.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			if response.StatusCode == http.StatusOK {
				answered++
			}
		})
	}
	all.Wait()
	return answered
}

// 60 concurrent reviews that are as expensive as the limits allow, and 60 of 6 MiB, need little memory. Each flood has
// a replica of its own: it uses the time that others get from a replica, and on a busy machine all of it.
func TestMemoryOfReviews(t *testing.T) {
	debug.SetGCPercent(25) // as that of the program
	t.Cleanup(func() { debug.SetGCPercent(100) })
	bodies := hostilePods(2900<<10, admission.MaxValues)
	bodies["6 MiB"] = hostilePods(6<<20, 1000)["long string"]
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			answered, growth := floodGrowth(t, "127.0.0.2", body)
			if growth > 64 || (answered == 0) != (name == "6 MiB") {
				t.Errorf("%d of 60 answered, the memory grows by %.0f MiB", answered, growth)
			}
		})
	}
	if raceDetector {
		return
	}
	// Users of the cluster can send such pods through the API server, which decodes them, too.
	for name, body := range map[string]string{
		"long string": hostilePods(6<<20, 1000)["long string"], "containers": hostilePods(0, 192<<10)["containers"],
	} {
		t.Run("API server, "+name, func(t *testing.T) {
			answered, growth := floodGrowth(t, "127.0.0.9", body)
			if answered == 0 || growth > 384 {
				t.Errorf("%d of 60 answered, the memory grows by %.0f MiB", answered, growth)
			}
		})
	}
}

// floodGrowth floods a new replica, and returns how many reviews are answered and by how many MiB the heap grows.
func floodGrowth(t *testing.T, from, body string) (answered int, growth float64) {
	_, _, _, address := startWebhooks(t)
	growth = peakGrowth(func() { answered = flood(t, from, address, body) })
	t.Logf("%d bytes: %d of 60 answered, at most %.0f MiB more", len(body), answered, growth)
	return answered, growth
}
