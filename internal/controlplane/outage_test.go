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

// While a dependency of the start is unavailable, the control plane is not ready, reports the dependency, and
// retries.
func TestStartWaitsForAPIServer(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t, "back", "front")
	process := newAPIProcess(t, k)
	r := startReplica(t, "a", process.address)
	r.expectNotReady("connection refused")

	var rejected atomic.Int32
	answerWith := func(code int, reason metav1.StatusReason, matches func(path string) bool) {
		rejected.Store(0)
		process.inject(func(w http.ResponseWriter, r *http.Request) bool {
			if !matches(r.URL.Path) {
				return false
			}
			rejected.Add(1)
			replyError(w, code, reason, "not now")
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
	// Later requests get both errors in turn: each failure doubles the time until the next request.
	rejected.Store(0)
	process.inject(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/virtualnodes") {
			return false
		}
		if rejected.Add(1)%2 == 1 {
			replyError(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "not now")
		} else {
			replyError(w, http.StatusForbidden, metav1.StatusReasonForbidden, "not now")
		}
		return true
	})
	process.injectBefore(expireRequests(2))
	r.expectNotReady("missing are those of kind VirtualNode (")
	r.eventually("the control plane retries", func() bool { return rejected.Load() > 1 })
	if r.engine.Ready() || r.workloads() != nil {
		t.Error("the control plane has a partial mesh")
	}
	process.inject(nil)
	r.expectReady()
	r.expectWorkloads("back_a", "front_a")
}

// expireRequests responds to a number of list and watch requests with 410 Gone. The number is limited because
// client-go retries these without backoff.
func expireRequests(times int32) func(http.ResponseWriter, *http.Request) bool {
	var left atomic.Int32
	left.Store(times)
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/virtualnodes") || left.Add(-1) < 0 {
			return false
		}
		replyError(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		return true
	}
}

// The control plane waits for an API server that is slow, responds with 429, and restarts in between.
func TestStartWithSlowAPIServer(t *testing.T) {
	process := newAPIProcess(t, newPopulatedAPI(t, "front"))
	var mu sync.Mutex
	requests, held := map[string]int{}, make(chan struct{})
	process.inject(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		requests[r.URL.Path]++
		first := requests[r.URL.Path] == 1
		mu.Unlock()
		if !strings.HasSuffix(r.URL.Path, "/virtualnodes") {
			if first {
				w.Header().Set("Retry-After", "0")
				replyError(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "not now")
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
	r.eventually("the last kind is listed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return requests["/apis/policy.openservicemesh.io/v1alpha1/retries"] > 1
	})
	r.expectNotReady("missing are those of kind VirtualNode\n") // and for no other kind
	process.kill()
	r.expectNotReady("waiting for the API server, for objects of kind VirtualNode: ")
	process.run()
	r.expectNotReady("missing are those of kind VirtualNode")
	close(held)
	r.expectReady()
	r.expectWorkloads("front_a")
}

// During an outage of the API server the control plane keeps its state and stays ready. Changes during the outage
// arrive after it, also if the watch history has expired, and if the API server returns errors first.
func TestAPIServerOutage(t *testing.T) {
	for name, compact := range map[string]bool{"with watch history": false, "without watch history": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newPopulatedAPI(t, "back", "front")
			process := newAPIProcess(t, k)
			process.run()
			r := startReplica(t, "a", process.address)
			r.expectReady()
			r.expectWorkloads("back_a", "front_a")
			r.eventually("the VirtualNode has a status", func() bool {
				return condition(k.getObject(t, workload("front"))) == "True"
			})

			process.kill()
			k.deleteObject(t, workload("back"))
			k.applyObject(t, workload("late"))
			front := workload("front")
			front.Spec.Backends = []api.Backend{
				{VirtualService: api.VirtualServiceBackend{
					VirtualServiceRef: &api.VirtualServiceReference{Name: "nowhere"},
				}},
			}
			k.applyObject(t, front)
			if compact {
				k.compact()
			}
			var rejected atomic.Int32
			process.inject(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/virtualnodes") || rejected.Add(1) > 2 {
					return false
				}
				replyError(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is unavailable")
				return true
			})
			if got := r.workloads(); !slices.Equal(got, []string{"back_a", "front_a"}) || r.health("/readyz") != nil {
				t.Errorf("during the outage: got workloads %v, readiness error %v", got, r.health("/readyz"))
			}
			process.run()
			r.expectWorkloads("front_a", "late_a")
			if rejected.Load() < 3 {
				t.Errorf("got %d requests, want at least 3", rejected.Load())
			}
			r.eventually("the statuses are updated", func() bool {
				return condition(k.getObject(t, workload("front"))) == "False" &&
					condition(k.getObject(t, workload("late"))) == "True"
			})
		})
	}
}

// condition returns the status of the only condition of an object.
func condition(o *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	if len(list) != 1 {
		return ""
	}
	s, _ := list[0].(map[string]any)["status"].(string)
	return s
}
