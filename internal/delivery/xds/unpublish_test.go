package xds

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// A key is published when its first client connects, and not before. Unpublish needs that it has no clients. A client
// that returns afterwards receives only differences.
func TestPublishForFirstClient(t *testing.T) {
	var content atomic.Value
	content.Store("1")
	h := &recordingObserver{}
	r := startServer(t, authorizeByCommonName, Options{Observer: h})
	all := shared(t, text(ClusterType, "a", "1"))
	h.onConnect(func(key string) {
		with, err := all.With(text(ClusterType, "b", content.Load().(string)))
		if err != nil {
			t.Error(err)
			return
		}
		r.Publish(key, with, time.Time{})
	})
	if r.HasClients("blue") || !r.Unpublish("blue") {
		t.Error("a key that was never used has clients")
	}
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	eventually(t, "all resources", func() bool { return slices.Equal(c.received(), []string{"cluster +a +b"}) })
	second := r.connect(t, "blue")
	second.subscribe(ClusterType)
	eventually(t, "all resources", func() bool { return slices.Equal(second.received(), []string{"cluster +a +b"}) })
	if !r.HasClients("blue") || r.Unpublish("blue") {
		t.Error("unpublished with clients")
	}
	if got := h.list(); !slices.Contains(got, "connected blue") || slices.Index(got[1:], "connected blue") >= 0 {
		t.Errorf("calls of the observer: %q", got)
	}

	versions := c.has(ClusterType)
	for _, each := range []struct{ content, want string }{{"1", "cluster"}, {"2", "cluster +b"}} {
		c.conn.Close()
		second.conn.Close()
		eventually(t, "no clients", func() bool { return !r.HasClients("blue") })
		if !r.Unpublish("blue") || r.Update(all, &Update{}, time.Time{}) != 0 || len(r.groups.all()) != 0 {
			t.Error("still published")
		}
		content.Store(each.content)
		c = r.connect(t, "blue")
		c.ask(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: ClusterType, InitialResourceVersions: versions, Node: &corev3.Node{Id: "node"},
		})
		eventually(t, "a response", func() bool { return len(c.received()) > 0 })
		if got := c.received(); !slices.Equal(got, []string{each.want}) {
			t.Errorf("returned: received %q, want %q", got, each.want)
		}
	}
}

// Other streams of a connection, and other connections, do not wait until a key is published.
func TestOthersDoNotWaitForConnected(t *testing.T) {
	waiting, release := make(chan struct{}), make(chan struct{})
	h := &recordingObserver{}
	r := startServer(t, func(_ context.Context, _ Peer, n *corev3.Node) (Grant, error) {
		return Grant{Key: n.GetId(), Identity: n.GetId()}, nil
	}, Options{Observer: h})
	h.onConnect(func(key string) {
		if key == "slow" {
			close(waiting)
			<-release
		}
		r.Publish(key, snapshot(t, text(ClusterType, key, "1")), time.Time{})
	})
	conn := r.dial(t, r.ca.leaf(t, "blue", time.Hour))
	ask := func(id string) *deltaClient {
		c := r.connectOn(t, conn)
		c.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: id}})
		return c
	}
	slow := ask("slow")
	<-waiting
	fast := ask("fast")
	eventually(t, "the other stream is served", func() bool { return len(fast.has(ClusterType)) == 1 })
	if got := slow.received(); len(got) != 0 {
		t.Errorf("received %q before the key is published", got)
	}
	close(release)
	eventually(t, "the stream is served", func() bool { return len(slow.has(ClusterType)) == 1 })
}

// A client that connects during Unpublish is served: the key is either kept, or published again.
func TestConnectDuringUnpublish(t *testing.T) {
	var publishing sync.Mutex
	h := &recordingObserver{}
	r := startServer(t, func(_ context.Context, _ Peer, n *corev3.Node) (Grant, error) {
		return Grant{Key: "blue", Identity: n.GetId()}, nil
	}, Options{Observer: h, MaxFramesPerSecond: 1e6, MaxFrameBurst: 1e6})
	h.onConnect(func(key string) {
		publishing.Lock()
		defer publishing.Unlock()
		r.Publish(key, snapshot(t, text(ClusterType, "a", "1")), time.Time{})
	})
	conn := r.dial(t, r.ca.leaf(t, "blue", time.Hour))
	for i := range 300 {
		var c *deltaClient
		var both sync.WaitGroup
		both.Go(func() {
			publishing.Lock()
			defer publishing.Unlock()
			r.Unpublish("blue")
		})
		both.Go(func() {
			c = r.connectOn(t, conn)
			c.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: fmt.Sprint(i)}})
		})
		both.Wait()
		eventually(t, "the client is served", func() bool { return len(c.has(ClusterType)) == 1 })
		c.sendMu.Lock()
		err := c.stream.CloseSend()
		c.sendMu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		<-c.ended
	}
}
