package controlplane

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	_ "anymesh.dev/anymesh/internal/driver/envoy"
)

// One after the other, everything that the start needs is away: the control plane waits, says for what, and goes on by
// itself.
func TestStartWaitsForAPIServer(t *testing.T) {
	k := newPopulatedAPI(t, "back", "front")
	process := newAPIProcess(t, k)
	r := startReplica(t, "a", process.address)
	r.expectNotReady("connection refused")

	var refused atomic.Int32
	answerWith := func(code int, reason metav1.StatusReason, concerns func(path string) bool) {
		refused.Store(0)
		process.inject(func(w http.ResponseWriter, r *http.Request) bool {
			if !concerns(r.URL.Path) {
				return false
			}
			refused.Add(1)
			refuse(w, code, reason, "not now")
			return true
		})
	}
	answerWith(http.StatusInternalServerError, metav1.StatusReasonInternalError, func(string) bool { return true })
	process.run()
	r.expectNotReady("its kinds")
	answerWith(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, func(path string) bool {
		return strings.Contains(path, "secrets")
	})
	r.expectNotReady("the certificate authority")
	answerWith(http.StatusNotFound, metav1.StatusReasonNotFound, func(path string) bool {
		return strings.HasPrefix(path, "/apis/appmesh")
	})
	r.expectNotReady("kind Mesh")
	expired, nodes := answerExpired(5), func(path string) bool { return strings.HasSuffix(path, "/virtualnodes") }
	for code, reason := range map[int]metav1.StatusReason{
		http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusForbidden:           metav1.StatusReasonForbidden,
	} {
		answerWith(code, reason, nodes)
		process.before(expired)
		r.expectNotReady("missing are those of kind VirtualNode (")
		r.eventually("it asks again", func() bool { return refused.Load() > 1 })
	}
	if r.engine.Ready() || r.workloads() != nil {
		t.Error("there is half a mesh")
	}
	process.inject(nil)
	r.ready()
	r.has("back_a", "front_a")
}

// answerExpired lets an API server say so often that what it is asked for has expired. If it never stops, client-go
// asks as fast as its client lets it.
func answerExpired(times int32) func(http.ResponseWriter, *http.Request) bool {
	var left atomic.Int32
	left.Store(times)
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/virtualnodes") || left.Add(-1) < 0 {
			return false
		}
		refuse(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		return true
	}
}

// An API server that takes its time, asks for more of it, and goes away meanwhile, is waited for.
func TestStartWithSlowAPIServer(t *testing.T) {
	process := newAPIProcess(t, newPopulatedAPI(t, "front"))
	var mu sync.Mutex
	asked, held := map[string]int{}, make(chan struct{})
	process.inject(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		asked[r.URL.Path]++
		first := asked[r.URL.Path] == 1
		mu.Unlock()
		if !strings.HasSuffix(r.URL.Path, "/virtualnodes") {
			if first {
				w.Header().Set("Retry-After", "0")
				refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "not now")
			}
			return first
		}
		select {
		case <-held:
		case <-r.Context().Done():
		}
		return false
	})
	process.run()
	r := startReplica(t, "a", process.address)
	r.expectNotReady("missing are those of kind VirtualNode\n") // and nothing else
	process.kill()
	r.expectNotReady("waiting for the API server, for objects of kind VirtualNode: ")
	process.run()
	r.expectNotReady("missing are those of kind VirtualNode")
	close(held)
	r.ready()
	r.has("front_a")
}

// An API server that goes away takes nothing with it. What changed meanwhile arrives when it is back, also when its
// history has expired, and when it has to find itself first.
func TestAPIServerOutage(t *testing.T) {
	for name, compact := range map[string]bool{"with its history": false, "without its history": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newPopulatedAPI(t, "back", "front")
			process := newAPIProcess(t, k)
			process.run()
			r := startReplica(t, "a", process.address)
			r.ready()
			r.has("back_a", "front_a")
			r.eventually("the front has a status", func() bool {
				return condition(k.read(t, workload("front"))) == "True"
			})

			process.kill()
			k.remove(t, workload("back"))
			k.put(t, workload("late"))
			front := workload("front")
			front.Spec.Backends = []api.Backend{
				{VirtualService: api.VirtualServiceBackend{
					VirtualServiceRef: &api.VirtualServiceReference{Name: "nowhere"},
				}},
			}
			k.put(t, front)
			if compact {
				k.compact()
			}
			var refused atomic.Int32
			process.inject(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/virtualnodes") || refused.Add(1) > 2 {
					return false
				}
				refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is not there yet")
				return true
			})
			if got := r.workloads(); !slices.Equal(got, []string{"back_a", "front_a"}) || r.health("/readyz") != nil {
				t.Errorf("without the API server there are %v, and ready is %v", got, r.health("/readyz"))
			}
			process.run()
			r.has("front_a", "late_a")
			if refused.Load() < 3 {
				t.Errorf("it was asked %d times", refused.Load())
			}
			r.eventually("the statuses are right", func() bool {
				return condition(k.read(t, workload("front"))) == "False" &&
					condition(k.read(t, workload("late"))) == "True"
			})
		})
	}
}

// condition is the status of an object's only condition.
func condition(o *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	if len(list) != 1 {
		return ""
	}
	s, _ := list[0].(map[string]any)["status"].(string)
	return s
}
