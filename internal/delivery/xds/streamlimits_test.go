package xds

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// flood opens streams with a first request, each closed at once by one side, and returns the number of refused
// streams.
func (r *testServer) flood(t *testing.T, workers, each int, patience time.Duration) (refused int) {
	t.Helper()
	conn := r.dial(t, r.ca.leaf(t, "blue", time.Hour))
	stub := discoveryv3.NewAggregatedDiscoveryServiceClient(conn)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		wg.Go(func() {
			for range each {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				s, err := stub.DeltaAggregatedResources(ctx)
				if err == nil {
					_ = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType})
					if _, err = s.Recv(); status.Code(err) == codes.ResourceExhausted {
						mu.Lock()
						refused++
						mu.Unlock()
					}
				}
				cancel()
			}
		})
	}
	wg.Wait()
	return refused
}

func repeatedResets(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	r.Publish("blue", snapshot(t), time.Time{})
	r.flood(t, 1, 200, 10*time.Millisecond)
	eventually(t, "all clients are disconnected", func() bool { return len(r.Clients()) == 0 })
	if r.refusedCount(reasonStreamRate) == 0 {
		t.Error("the stream rate is not limited")
	}
	r.checkOtherClientServed(t)
}

func manyStreams(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	r.Publish("blue", snapshot(t), time.Time{})
	refused := r.flood(t, 8, 1250, 20*time.Second)
	if burst := (&Options{}); refused < 9000 {
		burst.setDefaults()
		t.Errorf("%d of 10000 streams were refused, want all except the burst of %d and the permitted rate", refused,
			burst.MaxStreamBurst)
	}
	r.clientLimits.mu.Lock()
	n := len(r.clientLimits.byIdentity)
	r.clientLimits.mu.Unlock()
	if n != 1 {
		t.Errorf("%d identities are stored", n)
	}
	r.checkOtherClientServed(t)
}

func manyConnections(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{MaxConnectionsPerIdentity: 2})
	r.Publish("blue", snapshot(t), time.Time{})
	for range 2 {
		c := r.connect(t, "blue")
		c.subscribe(ClusterType)
		eventually(t, "served", func() bool { return len(c.received()) == 1 })
	}
	r.expectRefused(t, codes.ResourceExhausted, reasonConnectionsPerIdentity,
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType})

	full := startServer(t, authorizeByCommonName, Options{MaxConnections: 1})
	full.Publish("blue", snapshot(t), time.Time{})
	c := full.connect(t, "blue")
	c.subscribe(ClusterType)
	eventually(t, "served", func() bool { return len(c.received()) == 1 })
	red := full.connect(t, "red")
	if err := red.end(); status.Code(err) != codes.Unavailable {
		t.Errorf("connection beyond MaxConnections: %v", err)
	}
	red.conn.Close() // otherwise it reconnects and uses the only slot
	if full.refusedCount(reasonMaxConnections) == 0 {
		t.Error("the refused connection is not counted")
	}
	c.conn.Close()
	full.checkOtherClientServed(t)
}

func nodeOfAnotherIdentity(t *testing.T) {
	r := startServer(t, func(_ context.Context, p Peer, n *corev3.Node) (Grant, error) {
		if name := p.Chain[0].Subject.CommonName; n.GetId() != "red" || n.GetId() == name {
			return Grant{Key: name, Identity: name}, nil
		}
		return Grant{}, errors.New("the node belongs to another identity")
	}, Options{})
	r.Publish("red", snapshot(t, text(ClusterType, "secret", "1")), time.Time{})
	r.expectRefused(t, codes.PermissionDenied, reasonPermissionDenied,
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "red"}})
}

func clockJumpsPastExpiry(t *testing.T) {
	for name, idle := range map[string]bool{"idle": true, "with an update": false} {
		t.Run(name, func(t *testing.T) {
			r := startServer(t, authorizeByCommonName, Options{})
			var jump atomic.Int64
			r.clock = func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
			r.Publish("blue", snapshot(t), time.Time{})
			c := r.connect(t, "blue")
			c.subscribe(ClusterType)
			eventually(t, "served", func() bool { return len(c.received()) == 1 })
			jump.Store(int64(2 * time.Hour)) // timers do not notice the change
			if idle {
				g := r.groups.get("blue")
				g.mu.Lock()
				for _, st := range g.streams {
					st.expiryTimer.Reset(0) // simulates expiryCheckInterval
				}
				g.mu.Unlock()
			} else {
				r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
			}
			if err := c.end(); status.Code(err) != codes.Unauthenticated {
				t.Error(err)
			}
			if got := c.received(); !slices.Equal(got, []string{"cluster"}) {
				t.Errorf("received %q with an expired certificate", got)
			}
		})
	}
}
