package xds

import (
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

// Clients that do not read do not delay others, even before SendTimeout.
func TestSlowClientDoesNotDelayOthers(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{SendTimeout: time.Hour})
	r.Publish("slow", snapshot(t, text(ClusterType, "large", strings.Repeat("x", 8<<20))), time.Time{})
	r.Publish("blue", snapshot(t, text(ClusterType, "small", "1")), time.Time{})
	for range 3 {
		conn := r.dial(t, r.ca.leaf(t, "slow", time.Hour), grpc.WithInitialWindowSize(65535),
			grpc.WithInitialConnWindowSize(65535))
		slow, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := slow.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the slow clients are connected", func() bool { return len(r.Clients()) == 3 })
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	eventually(t, "the other client is served", func() bool { return len(c.has(ClusterType)) == 1 })
}
