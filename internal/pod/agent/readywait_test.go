package agent

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A request that waits longer than MaxReadyWait for the proxy gets an answer after it, and is counted.
func TestReadyWaitIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{metrics: newMetrics()} // the proxy does not start
		for wait, refused := range map[string]float64{"2s": 0, "1h": 1} {
			response, start := httptest.NewRecorder(), time.Now()
			before := testutil.ToFloat64(a.metrics.refused.WithLabelValues("ready_wait"))
			a.serveReady(response, httptest.NewRequest(http.MethodGet, "/ready?wait="+wait, nil))
			counted := testutil.ToFloat64(a.metrics.refused.WithLabelValues("ready_wait")) - before
			if took := time.Since(start); response.Code != http.StatusServiceUnavailable || counted != refused ||
				took > MaxReadyWait+readyPoll {
				t.Errorf("wait %s: status %d after %v, counted %v", wait, response.Code, took, counted)
			}
		}
	})
}
