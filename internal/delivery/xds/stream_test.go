package xds

import (
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestStreamEndReasons(t *testing.T) {
	connected := func(t *testing.T, r *testServer, c *deltaClient) {
		c.subscribe(ClusterType)
		eventually(t, "connected", func() bool { return len(r.Clients()) == 1 && len(c.received()) > 0 })
	}
	t.Run("key removed", func(t *testing.T) {
		r := startServer(t, authorizeByCommonName, Options{})
		r.Publish("blue", snapshot(t), time.Time{})
		c := r.connect(t, "blue")
		connected(t, r, c)
		r.Remove("blue")
		if err := c.end(); status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
		eventually(t, "the group is removed", func() bool { return len(r.groups.all()) == 0 })
	})
	t.Run("Disconnect", func(t *testing.T) {
		r := startServer(t, authorizeByCommonName, Options{})
		r.Publish("blue", snapshot(t), time.Time{})
		c := r.connect(t, "blue")
		connected(t, r, c)
		if n := r.Disconnect("red", ""); n != 0 {
			t.Errorf("%d streams of red", n)
		}
		if n := r.Disconnect("blue", "blue"); n != 0 {
			t.Errorf("%d streams of blue with another key", n)
		}
		if n := r.Disconnect("blue", "green"); n != 1 {
			t.Errorf("%d streams of blue", n)
		}
		if err := c.end(); status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
	})
	t.Run("certificate expired", func(t *testing.T) {
		r := startServer(t, authorizeByCommonName, Options{})
		r.Publish("blue", snapshot(t), time.Time{})
		c := r.connectWith(t, r.ca.leaf(t, "blue", 3*time.Second))
		connected(t, r, c)
		if err := c.end(); status.Code(err) != codes.Unauthenticated {
			t.Error(err)
		}
	})
}

func TestMaxStreamsPerIdentity(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{MaxStreamsPerIdentity: 2})
	r.Publish("blue", snapshot(t), time.Time{})
	var all []*deltaClient
	for range 2 {
		c := r.connect(t, "blue")
		c.subscribe(ClusterType)
		all = append(all, c)
	}
	eventually(t, "two", func() bool { return len(r.Clients()) == 2 })
	third := r.connect(t, "blue")
	third.subscribe(ClusterType)
	if err := third.end(); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
	all[0].conn.Close()
	eventually(t, "one", func() bool { return len(r.Clients()) == 1 })
	fourth := r.connect(t, "blue")
	fourth.subscribe(ClusterType)
	eventually(t, "two again", func() bool { return len(r.Clients()) == 2 })
}

func clientThatNeverReads(t *testing.T) {
	reg := prometheus.NewRegistry()
	r := startServer(t, authorizeByCommonName, Options{SendTimeout: 100 * time.Millisecond,
		AckTimeout: 100 * time.Millisecond, Registerer: reg})
	r.Publish("blue", snapshot(t, text(ClusterType, "large", strings.Repeat("x", 8<<20))), time.Time{})
	good := r.connect(t, "blue")
	conn := r.dial(t, r.ca.leaf(t, "blue", time.Hour), grpc.WithInitialWindowSize(65535),
		grpc.WithInitialConnWindowSize(65535))
	slow, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The client subscribes to several types and never calls Recv: gRPC stops reading when the window is full.
	for _, ty := range []string{ClusterType, ListenerType, RouteType} {
		if err := slow.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ty}); err != nil {
			t.Fatal(err)
		}
	}
	good.conn.Connect()
	eventually(t, "the slow client is disconnected",
		func() bool { return testutil.ToFloat64(r.metrics.closed.WithLabelValues(reasonSendTimeout)) == 1 })
	eventually(t, "its stream is closed", func() bool { return len(r.Clients()) == 0 })
	r.Publish("blue", snapshot(t, text(ClusterType, "small", "1")), time.Time{})
	good.subscribe(ClusterType)
	eventually(t, "the other client is served", func() bool { return len(good.has(ClusterType)) == 1 })
}
