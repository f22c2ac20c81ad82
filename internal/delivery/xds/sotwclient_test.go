package xds

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

// sotwClient is a minimal state-of-the-world client: it acknowledges every response and logs it.
type sotwClient struct {
	conn   *grpc.ClientConn
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	ended  chan error

	mu     sync.Mutex
	names  map[string][]string
	nonces map[string]string
	log    []string
}

func (r *testServer) connectSotw(t testing.TB, name string) *sotwClient {
	t.Helper()
	return newSotwClient(t, r.dial(t, r.ca.leaf(t, name, time.Hour)))
}

func newSotwClient(t testing.TB, conn *grpc.ClientConn) *sotwClient {
	t.Helper()
	c, err := openSotwClient(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openSotwClient is newSotwClient for any goroutine.
func openSotwClient(ctx context.Context, conn *grpc.ClientConn) (*sotwClient, error) {
	c := &sotwClient{conn: conn, ended: make(chan error, 1), names: map[string][]string{}, nonces: map[string]string{}}
	var err error
	c.stream, err = discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			r, err := c.stream.Recv()
			if err != nil {
				c.ended <- err
				return
			}
			c.mu.Lock()
			c.log = append(c.log, summarizeSotw(r))
			c.nonces[r.GetTypeUrl()] = r.GetNonce()
			c.send(r.GetTypeUrl())
			c.mu.Unlock()
		}
	}()
	return c, nil
}

// send requires the lock.
func (c *sotwClient) send(typeURL string) {
	_ = c.stream.Send(&discoveryv3.DiscoveryRequest{ // Recv reports a broken stream
		Node: &corev3.Node{Id: "node"}, TypeUrl: typeURL, ResourceNames: c.names[typeURL],
		ResponseNonce: c.nonces[typeURL],
	})
}

func (c *sotwClient) subscribe(typeURL string, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[typeURL] = names
	c.send(typeURL)
}

func (c *sotwClient) received() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log)
}

func sotwADS(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	shares := shared(t, one(ClusterType, "c@1"), one(RouteType, "r@1"))
	r.Publish("blue", sharing(t, shares), time.Time{})
	r.Publish("red", snapshot(t, one(ClusterType, "other's@1")), time.Time{})
	c := r.connectSotw(t, "blue")
	c.subscribe(ClusterType)
	c.subscribe(RouteType, "r")
	eventually(t, "both", func() bool { return slices.Equal(c.received(), []string{"cluster c@1", "route r@1"}) })
	r.Update(shares, &Update{Changed: []*Resource{one(ClusterType, "d@1")}}, time.Time{})
	eventually(t, "all clusters", func() bool { return slices.Equal(c.received()[2:], []string{"cluster c@1 d@1"}) })
	eventually(t, "all acknowledged in the status", func() bool {
		all := r.Clients()
		return len(all) == 1 && all[0].NodeID == "node" && len(all[0].Types) == 2 && all[0].Types[0].Resources == 2 &&
			all[0].Types[0].Wildcard && all[0].Types[0].AckedVersion == all[0].Types[0].SentVersion
	})
}

func deltaAndSotwOnOneConnection(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	r.Publish("blue", snapshot(t, one(ClusterType, "c@1")), time.Time{})
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	w := newSotwClient(t, c.conn)
	w.subscribe(ClusterType)
	eventually(t, "both have it", func() bool {
		return len(c.has(ClusterType)) == 1 && slices.Equal(w.received(), []string{"cluster c@1"})
	})
}
