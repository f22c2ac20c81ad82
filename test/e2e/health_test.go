package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	checkedURL = "http://checked.colors.svc.cluster.local:8080/"
	limitedURL = "http://limited.colors.svc.cluster.local:8080/"
)

// TestHealth checks that clients use only endpoints that pass their health check and are not ejected. Another
// configuration of the health check loses no request.
func TestHealth(t *testing.T) {
	apply(t, checkedManifests)
	waitReady(t, "colors", "deployment/checked")
	addCheckedTarget(t)
	t.Cleanup(func() { patchBackends(t, `[{"op":"remove","path":"/spec/backends/3"}]`) })
	patchBackends(t,
		`[{"op":"add","path":"/spec/backends/3","value":{"virtualService":{"virtualServiceRef":{"name":"checked"}}}}]`)
	pods := strings.Fields(run(t, "-n", "colors", "get", "pods", "-l", "app=checked", "-o",
		"jsonpath={.items[*].metadata.name}"))
	if len(pods) != 2 {
		t.Fatalf("pods: %v", pods)
	}
	one, other := pods[0], pods[1]
	// reaches waits until all calls have the given outcomes.
	reaches := func(what string, outcomes ...string) {
		t.Helper()
		eventually(t, 40*time.Second, what, func() error {
			counts := callsFrom(t, "front", checkedURL, 40)
			for _, o := range outcomes {
				if counts[o] == 0 || len(counts) != len(outcomes) {
					return fmt.Errorf("responses %v, want %v", counts, outcomes)
				}
			}
			return nil
		})
	}
	reaches("both pods respond", one, other)

	calls := startCalls(t, "front", checkedURL, 3000)
	run(t, "-n", "colors", "patch", "virtualnode", "checked", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/listeners/0/healthCheck/timeoutMillis","value":3000}]`)
	if counts := calls.Wait(t); counts[one]+counts[other] != 3000 {
		t.Errorf("failures while the health check is changed: %v", counts)
	}

	override(t, one, 503, "ping")
	reaches("no request for the pod that fails its check", other)
	override(t, one, 200, "ping")
	reaches("both pods are back", one, other)

	checkEjection(t, one)
	reaches("the outlier is back", one, other)
}

// addCheckedTarget adds a target with a health check to a route under load, and removes it. No call fails, although no
// check of the target has passed when clients learn of it.
func addCheckedTarget(t *testing.T) {
	t.Helper()
	const targets = "/spec/routes/0/httpRoute/action/weightedTargets/"
	edit := func(patch string) {
		run(t, "-n", "colors", "patch", "virtualrouter", "color", "--type=json", "-p", patch)
	}
	calls := startCalls(t, "front", colorURL, 3000)
	edit(`[{"op":"add","path":"` + targets + `0","value":{"virtualNodeRef":{"name":"checked"},"weight":50}}]`)
	t.Cleanup(func() {
		_, _ = kubectl(contextOf(t), "-n", "colors", "patch", "virtualrouter", "color", "--type=json", "-p",
			`[{"op":"test","path":"`+targets+`0/virtualNodeRef/name","value":"checked"},{"op":"remove","path":"`+targets+`0"}]`)
	})
	during := calls.Wait(t)
	eventually(t, 20*time.Second, "the target gets requests", func() error {
		counts := callsFrom(t, "front", colorURL, 20)
		for outcome, n := range counts {
			during[outcome] += n
			if strings.HasPrefix(outcome, "checked-") {
				return nil
			}
		}
		return fmt.Errorf("responses %v", counts)
	})
	edit(`[{"op":"remove","path":"` + targets + `0"}]`)
	for outcome, n := range during {
		if outcome != "red" && outcome != "blue" && !strings.HasPrefix(outcome, "checked-") {
			t.Errorf("%d calls have the outcome %s", n, outcome)
		}
	}
}

// checkEjection checks that a pod is ejected after its third 5xx, not earlier, and that it is back after the base
// ejection time of 5 seconds, not earlier.
func checkEjection(t *testing.T, pod string) {
	t.Helper()
	override(t, pod, 500, "")
	var ejected time.Time // at the earliest
	failures, successes := 0, 0
	for calls := 0; successes < 6; calls++ { // in a row: the two pods get requests in turn
		if calls == 200 {
			t.Fatalf("the pod is not ejected: %d of %d responses are 500", failures, calls)
		}
		o, err := callFrom(t.Context(), "front", checkedURL)
		switch {
		case err != nil:
			t.Fatal(err)
		case o.Status == 200:
			successes++
			continue
		}
		failures, successes = failures+1, 0
		if failures == 3 {
			ejected = time.Now()
		}
	}
	if failures < 3 {
		t.Fatalf("the pod is ejected after %d responses with 500, want 3", failures)
	}
	override(t, pod, 200, "")
	eventually(t, 40*time.Second, "the ejected pod is back", func() error {
		o, err := callFrom(t.Context(), "front", checkedURL)
		return want(o, err, o.Version == pod, "a response of "+pod)
	})
	if away := time.Since(ejected); away < 5*time.Second {
		t.Errorf("the pod is back %s after its third 500, want at least 5s", away)
	}
	t.Logf("ejected after %d responses with 500, back after %s", failures, time.Since(ejected))
}

// override sets the status of a pod's further responses for a path. The request passes the pod's own sidecar.
func override(t *testing.T, pod string, status int, path string) {
	t.Helper()
	raw := fmt.Sprintf("/api/v1/namespaces/colors/pods/%s:8080/proxy/override/%d/%s", pod, status, path)
	if _, err := kubectl(t.Context(), "get", "--raw", raw); err != nil {
		t.Fatal(err)
	}
}

// TestConnectionPool checks the number of requests that a sidecar with one worker forwards and keeps waiting.
func TestConnectionPool(t *testing.T) {
	apply(t, limitedManifests)
	t.Cleanup(func() { patchBackends(t, `[{"op":"remove","path":"/spec/backends/3"}]`) })
	patchBackends(t,
		`[{"op":"add","path":"/spec/backends/3","value":{"virtualService":{"virtualServiceRef":{"name":"limited"}}}}]`)
	waitReady(t, "colors", "deployment/limited")
	fiveCalls := func() map[string]int {
		eventually(t, 20*time.Second, "an idle connection", func() error {
			o, err := callFrom(t.Context(), "front", limitedURL)
			return want(o, err, o.Version == "limited", "a response")
		})
		counts := map[string]int{}
		var mu sync.Mutex
		var calls sync.WaitGroup
		for range 5 {
			calls.Go(func() {
				o, err := callFrom(t.Context(), "front", limitedURL+"delay/1s")
				mu.Lock()
				defer mu.Unlock()
				counts[fmt.Sprint(o.Status, o.Error, err)]++
			})
		}
		calls.Wait()
		return counts
	}
	const ok, overflow = "200<nil>", "503<nil>"
	if counts := fiveCalls(); counts[ok] != 2 || counts[overflow] != 3 {
		t.Errorf("five requests with one connection and one waiting request: %v, want three times 503", counts)
	}
	run(t, "-n", "colors", "patch", "virtualnode", "limited", "--type=json", "-p",
		`[{"op":"remove","path":"/spec/listeners/0/connectionPool/http/maxPendingRequests"}]`)
	eventually(t, 30*time.Second, "without a limit for waiting requests, all succeed", func() error {
		if counts := fiveCalls(); counts[ok] != 5 {
			return fmt.Errorf("%v", counts)
		}
		return nil
	})
}
