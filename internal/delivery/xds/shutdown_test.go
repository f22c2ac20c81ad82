package xds

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// At shutdown, the health service reports NOT_SERVING, and all streams end with UNAVAILABLE.
func TestShutdown(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{DrainTime: 50 * time.Millisecond})
	r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
	health := healthv1.NewHealthClient(r.dial(t, r.ca.leaf(t, "blue", time.Hour)))
	watch, err := health.Watch(t.Context(), &healthv1.HealthCheckRequest{Service: adsService})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("got health %v, error %v", got, err)
	}
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	eventually(t, "served", func() bool { return len(c.has(ClusterType)) == 1 })
	r.stop()
	if err := c.end(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ended with %v", err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got health %v, error %v at shutdown", got, err)
	}
	if n := testutil.ToFloat64(r.metrics.closed.WithLabelValues(reasonShutdown)); n != 1 {
		t.Errorf("%v closed streams are counted", n)
	}
}
