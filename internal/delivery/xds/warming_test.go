package xds

import (
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// A client that receives a new version of a cluster warms it, and waits for endpoints. It receives the endpoints of
// this cluster again, and no others.
func clusterWarming(t *testing.T) {
	old := []*Resource{text(ClusterType, "a", "1"), text(ClusterType, "b", "1"), text(EndpointType, "a", "1"),
		text(EndpointType, "b", "1")}
	now := append([]*Resource{text(ClusterType, "a", "2")}, old[1:]...)
	t.Run("on an open stream", func(t *testing.T) {
		b := newBench(t, old...)
		b.subscribe(ClusterType)
		b.subscribe(EndpointType, "a", "b")
		b.drain()
		b.publish(now...)
		if got, want := b.drain(), "cluster +a; endpoint +a"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		b.publish(now...)
		if got := b.drain(); got != "" {
			t.Errorf("nothing changed, but %s was sent", got)
		}
	})
	t.Run("asked for while another cluster waits", func(t *testing.T) {
		b := newBench(t, old[0], old[2])
		b.subscribe(ClusterType)
		b.subscribe(EndpointType, "a")
		b.drain()
		b.publish(old...)
		b.want("a cluster", summarizeDelta(b.send()), "cluster +b")
		b.publish(old[0], old[1], text(ClusterType, "c", "1"), text(EndpointType, "a", "2"), old[3])
		b.subscribe(EndpointType, "b")
		b.want("its endpoints", summarizeDelta(b.send()), "endpoint +b")
		if r := b.send(); r != nil {
			t.Errorf("%s was sent before the ACK of the cluster", summarizeDelta(r))
		}
	})
	// The new version waits for an answer also where there are no endpoints.
	t.Run("without endpoints", func(t *testing.T) {
		b := newBench(t, old[0])
		b.subscribe(ClusterType)
		b.subscribe(EndpointType, "a")
		if got, want := b.drain(), "cluster +a; endpoint -a"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		b.publish(now[0])
		if got, want := b.drain(), "cluster +a; endpoint -a"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	// Envoy acknowledges a cluster after it has received the endpoints.
	t.Run("before the cluster is acknowledged", func(t *testing.T) {
		b := newBench(t, old...)
		b.subscribe(ClusterType)
		b.subscribe(EndpointType, "a", "b")
		b.drain()
		b.publish(now...)
		b.want("the cluster", summarizeDelta(b.send()), "cluster +a")
		b.publish(append(now, text(ClusterType, "c", "1"), text(EndpointType, "c", "1"))...)
		b.want("its endpoints, while another cluster waits", summarizeDelta(b.send()), "endpoint +a")
		if r := b.send(); r != nil {
			t.Errorf("%s was sent before the ACK of the cluster", summarizeDelta(r))
		}
	})
	resumed := func(r *discoveryv3.DeltaDiscoveryRequest) {
		r.InitialResourceVersions = map[string]string{}
		for _, one := range old {
			if one.TypeURL == r.TypeUrl {
				r.InitialResourceVersions[one.Name] = one.Version
			}
		}
		if r.TypeUrl == EndpointType {
			r.ResourceNamesSubscribe = []string{"a", "b"}
		}
	}
	t.Run("changed while the client was disconnected", func(t *testing.T) {
		b := newBench(t, now...)
		b.request(ClusterType, resumed)
		first := b.send()
		b.request(EndpointType, resumed)
		b.ack(first)
		if got, want := summarizeDelta(first)+"; "+b.drain(), "cluster +a; endpoint +a"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
