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

// flood opens streams with a first request, each ended at once by one side or the other, and returns how many were refused.
func (r *running) flood(t *testing.T, workers, each int, patience time.Duration) (refused int) {
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

func resets(t *testing.T) {
	r := start(t, byName, Options{})
	r.Publish("blue", snapshot(t), time.Time{})
	r.flood(t, 1, 200, 10*time.Millisecond)
	eventually(t, "nothing is left", func() bool { return len(r.Clients()) == 0 })
	if r.count(reasonRate) == 0 {
		t.Error("it may go on for ever")
	}
	r.alive(t)
}

func manyStreams(t *testing.T) {
	r := start(t, byName, Options{})
	r.Publish("blue", snapshot(t), time.Time{})
	refused := r.flood(t, 8, 1250, 20*time.Second)
	if burst := (&Options{}); refused < 9000 {
		burst.setDefaults()
		t.Errorf("%d of 10000 streams were refused, want all but %d and those that time allows", refused, burst.StreamBurst)
	}
	r.visitors.mu.Lock()
	n := len(r.visitors.byIdentity)
	r.visitors.mu.Unlock()
	if n != 1 {
		t.Errorf("%d identities are remembered", n)
	}
	r.alive(t)
}

func manyConnections(t *testing.T) {
	r := start(t, byName, Options{ConnectionsPerIdentity: 2})
	r.Publish("blue", snapshot(t), time.Time{})
	for range 2 {
		c := r.connect(t, "blue")
		c.subscribe(ClusterType)
		eventually(t, "served", func() bool { return len(c.received()) == 1 })
	}
	r.ends(t, codes.ResourceExhausted, reasonConnections, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType})

	full := start(t, byName, Options{Connections: 1})
	full.Publish("blue", snapshot(t), time.Time{})
	c := full.connect(t, "blue")
	c.subscribe(ClusterType)
	eventually(t, "served", func() bool { return len(c.received()) == 1 })
	red := full.connect(t, "red")
	if err := red.end(); status.Code(err) != codes.Unavailable {
		t.Errorf("one more than there is room for: %v", err)
	}
	red.conn.Close() // lest it comes back and takes the room
	if full.count(reasonFull) == 0 {
		t.Error("it is not counted")
	}
	c.conn.Close()
	full.alive(t)
}

func otherIdentity(t *testing.T) {
	r := start(t, func(_ context.Context, p Peer, n *corev3.Node) (Grant, error) {
		if name := p.Chain[0].Subject.CommonName; n.GetId() != "red" || n.GetId() == name {
			return Grant{Key: name, Identity: name}, nil
		}
		return Grant{}, errors.New("the node is someone else's")
	}, Options{})
	r.Publish("red", snapshot(t, text(ClusterType, "secret", "1")), time.Time{})
	r.ends(t, codes.PermissionDenied, reasonDenied, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "red"}})
}

func clockJumps(t *testing.T) {
	for _, idle := range []bool{true, false} {
		r := start(t, byName, Options{})
		var jump atomic.Int64
		r.clock = func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
		r.Publish("blue", snapshot(t), time.Time{})
		c := r.connect(t, "blue")
		c.subscribe(ClusterType)
		eventually(t, "served", func() bool { return len(c.received()) == 1 })
		jump.Store(int64(2 * time.Hour)) // no timer notices that
		if idle {
			g := r.groups.get("blue")
			g.mu.Lock()
			for _, st := range g.streams {
				st.expiry.Reset(0) // as if a minute had passed
			}
			g.mu.Unlock()
		} else {
			r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
		}
		if err := c.end(); status.Code(err) != codes.Unauthenticated {
			t.Errorf("idle %t: %v", idle, err)
		}
		if got := c.received(); !slices.Equal(got, []string{"cluster"}) {
			t.Errorf("idle %t: it gets %q with a certificate that is over", idle, got)
		}
	}
}
