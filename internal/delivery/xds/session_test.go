package xds

import (
	"maps"
	"slices"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
)

const runtimeType = "type.googleapis.com/envoy.service.runtime.v3.Runtime"

func wildcard(t *testing.T) {
	b := newBench(t, text(ClusterType, "a", "1"), text(ClusterType, "b", "1"))
	b.request(ClusterType, nil)
	b.want("implicit for clusters", b.drain(), "cluster +a +b")
	b.publish(text(ClusterType, "a", "2"), text(ClusterType, "b", "1"), text(ClusterType, "c", "1"))
	b.want("only what changed", b.drain(), "cluster +a +c")
	b.publish(text(ClusterType, "a", "2"))
	b.want("removals", b.drain(), "cluster -b -c")
	b.publish(text(ClusterType, "a", "2"))
	b.want("same again", b.drain(), "")
	b.request(ClusterType, func(r *discoveryv3.DeltaDiscoveryRequest) { r.ResourceNamesUnsubscribe = []string{"*"} })
	b.publish(text(ClusterType, "a", "3"))
	b.want("unsubscribed", b.drain(), "")

	b = newBench(t, text(EndpointType, "a", "1"))
	b.request(EndpointType, nil)
	b.want("not implicit for endpoints", b.drain(), "endpoint")
	b.subscribe(EndpointType, "*")
	b.want("explicit", b.drain(), "endpoint +a")
}

func emptyWildcardGetsResponse(t *testing.T) {
	b := newBench(t)
	b.request(ListenerType, nil)
	b.want("a client without resources waits for a first response", b.drain(), "listener")
	b.want("once", b.drain(), "")
}

func namedResources(t *testing.T) {
	b := newBench(t, text(RouteType, "a", "1"), text(RouteType, "b", "1"), text(RouteType, "c", "1"))
	b.subscribe(RouteType, "a", "nowhere")
	b.want("names that do not exist are removed resources", b.drain(), "route +a -nowhere")
	b.subscribe(RouteType, "b")
	b.want("one more", b.drain(), "route +b")
	b.subscribe(RouteType, "b")
	b.want("a repeated subscription is sent again", b.drain(), "route +b")
	b.publish(text(RouteType, "a", "2"), text(RouteType, "b", "1"), text(RouteType, "c", "2"),
		text(RouteType, "nowhere", "1"))
	b.want("changes of subscribed names only", b.drain(), "route +a +nowhere")
	b.request(RouteType, func(r *discoveryv3.DeltaDiscoveryRequest) {
		r.ResourceNamesUnsubscribe = []string{"a",
			"never"}
	})
	b.publish()
	b.want("after unsubscribing from a", b.drain(), "route -b -nowhere")
	b.want("removed once", b.drain(), "")
}

func nameWithWildcard(t *testing.T) {
	b := newBench(t, text(ClusterType, "a", "1"), text(ClusterType, "b", "1"))
	b.subscribe(ClusterType, "*", "a", "x")
	b.want("both", b.drain(), "cluster +a +b -x")
	b.request(ClusterType, func(r *discoveryv3.DeltaDiscoveryRequest) {
		r.ResourceNamesUnsubscribe = []string{"a",
			"x"}
	})
	b.want("the client cannot know whether the wildcard matches", b.drain(), "cluster +a; cluster -x")
}

func initialResourceVersions(t *testing.T) {
	a, c := text(ClusterType, "a", "1"), text(ClusterType, "c", "1")
	resume := func(versions map[string]string) func(*discoveryv3.DeltaDiscoveryRequest) {
		return func(r *discoveryv3.DeltaDiscoveryRequest) { r.InitialResourceVersions = versions }
	}
	b := newBench(t, a, c)
	b.request(ClusterType, resume(map[string]string{"a": a.Version, "c": c.Version}))
	b.want("nothing changed: a response without resources", b.drain(), "cluster")

	b = newBench(t, a, c)
	b.request(ClusterType, resume(map[string]string{"a": "older", "gone": "1"}))
	b.want("the difference", b.drain(), "cluster +a +c; cluster -gone")

	route := text(RouteType, "r", "1")
	b = newBench(t, route)
	b.request(RouteType, func(r *discoveryv3.DeltaDiscoveryRequest) {
		r.ResourceNamesSubscribe = []string{"r"}
		r.InitialResourceVersions = map[string]string{"r": route.Version, "unwanted": "1"}
	})
	b.want("by name", b.drain(), "")
	b.request(RouteType, func(r *discoveryv3.DeltaDiscoveryRequest) {
		r.ResourceNamesSubscribe = []string{"r"}
		r.InitialResourceVersions = map[string]string{"r": route.Version}
	})
	b.want("initial versions count in the first request only", b.drain(), "route +r")
}

func nackKeepsOtherResources(t *testing.T) {
	b := newBench(t, text(ClusterType, "a", "bad"), text(ClusterType, "b", "1"))
	b.request(ClusterType, nil)
	r := b.send()
	did := b.request(ClusterType, func(q *discoveryv3.DeltaDiscoveryRequest) {
		q.ResponseNonce, q.ErrorDetail = r.GetNonce(), &statuspb.Status{Message: "no such thing"}
	})
	if !did.nacked || did.message != "no such thing" || !slices.Equal(slices.Sorted(maps.Keys(did.rejected)), []string{"a", "b"}) {
		t.Errorf("reaction %+v", did)
	}
	b.want("not sent again", b.drain(), "")
	sub := b.subscription(ClusterType).status()
	if sub.LastNack == nil || sub.LastNack.Message != "no such thing" || sub.AckedVersion != "" {
		t.Errorf("status %+v", sub)
	}
	b.publish(text(ClusterType, "a", "bad"), text(ClusterType, "b", "2"))
	b.want("other resources are sent", b.drain(), "cluster +b")
	b.publish(text(ClusterType, "a", "good"), text(ClusterType, "b", "2"))
	b.want("corrected resource", b.drain(), "cluster +a")
	if sub := b.subscription(ClusterType).status(); sub.AckedVersion != sub.SentVersion || sub.AckedVersion == "" {
		t.Errorf("status %+v", sub)
	}
}

func unknownNonces(t *testing.T) {
	b := newBench(t, text(RouteType, "a", "1"))
	b.subscribe(RouteType, "a")
	r := b.send()
	did := b.request(RouteType, func(q *discoveryv3.DeltaDiscoveryRequest) {
		q.ResponseNonce, q.ResourceNamesSubscribe = "made-up", []string{"b"}
	})
	if !did.unknownNonce || did.acked {
		t.Errorf("unknown nonce: %+v", did)
	}
	b.ack(r)
	b.want("the subscription of the request is applied", b.drain(), "route -b")
	if did := b.request(RouteType, func(q *discoveryv3.DeltaDiscoveryRequest) {
		q.ResponseNonce = r.GetNonce()
	}); !did.unknownNonce {
		t.Errorf("the same nonce a second time: %+v", did)
	}
}

func makeBeforeBreak(t *testing.T) {
	// Traffic moves from cluster "old" to cluster "new".
	before := []*Resource{
		text(ClusterType, "old", ""), text(EndpointType, "old", ""),
		text(ListenerType, "l", "1"), text(RouteType, "r", "to old"), text(SecretType, "s", "1"),
		text(runtimeType, "x", "1"),
	}
	b := newBench(t, before...)
	b.request(ClusterType, nil)
	b.request(ListenerType, nil)
	b.subscribe(EndpointType, "old", "new")
	b.subscribe(RouteType, "r")
	b.subscribe(SecretType, "s")
	b.subscribe(runtimeType, "x")
	b.want("start", b.drain(), "secret +s; cluster +old; endpoint +old -new; listener +l; route +r; other +x")

	b.publish(text(ClusterType, "new", ""), text(EndpointType, "new", ""),
		text(ListenerType, "l", "2"), text(RouteType, "r", "to new"), text(SecretType, "s", "2"),
		text(runtimeType, "x", "2"))
	b.want("change", b.drain(),
		"secret +s; cluster +new; endpoint +new; listener +l; route +r; other +x; cluster -old; endpoint -old")
}

func laterStepsWaitForAcks(t *testing.T) {
	b := newBench(t, text(ClusterType, "c", "1"), text(RouteType, "r", "1"))
	b.request(ClusterType, nil)
	b.subscribe(RouteType, "r")
	first := b.send()
	b.want("first", summarizeDelta(first), "cluster +c")
	if r := b.send(); r != nil {
		t.Fatalf("%s was sent before the ACK of the clusters", summarizeDelta(r))
	}
	_, wait := b.nextResponse(b.now)
	if wait != b.opts.AckTimeout {
		t.Errorf("waits %s, want %s", wait, b.opts.AckTimeout)
	}
	b.publish(text(ClusterType, "c", "3"), text(RouteType, "r", "2"))
	if r := b.send(); r != nil {
		t.Fatalf("%s was sent before the ACK of an earlier response", summarizeDelta(r))
	}
	b.ack(first)
	b.want("changes merged meanwhile", b.drain(), "cluster +c; route +r")

	b.publish(text(ClusterType, "c", "4"), text(RouteType, "r", "3"))
	b.send()
	b.now = b.now.Add(b.opts.AckTimeout)
	if r := b.send(); r == nil || summarizeDelta(r) != "route +r" {
		t.Errorf("after AckTimeout: response %v, want route +r", r)
	}
}

func unansweredResponsesAreBounded(t *testing.T) {
	b := newBench(t)
	b.subscribe(RouteType, "r")
	for i := range 100 {
		b.publish(text(RouteType, "r", strings.Repeat("x", i)))
		b.now = b.now.Add(b.opts.AckTimeout)
		if b.send() == nil {
			t.Fatal("no response")
		}
	}
	if n := len(b.subscription(RouteType).inflight); n != maxInflight {
		t.Errorf("%d responses tracked, want %d", n, maxInflight)
	}
}
