package xds

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
)

const runtimeType = "type.googleapis.com/envoy.service.runtime.v3.Runtime"

// bench is a session with published resources and a fixed clock.
type bench struct {
	*testing.T
	*session
	published state
	now       time.Time
	// shares tells which resources are shared ones, and anew whether these are others than before. Without it, all are own
	// ones.
	shares func(*Resource) bool
	anew   func() bool
}

func newBench(t *testing.T, resources ...*Resource) *bench {
	opts := &Options{}
	opts.setDefaults()
	b := &bench{T: t, session: newSession(opts, &corev3.Node{Id: "blue"}, false), published: newState(),
		now: time.Unix(1e9, 0), anew: func() bool { return false }}
	if strings.HasPrefix(t.Name(), sharedProtocol+"/") {
		b.shares = func(*Resource) bool { return true }
	}
	b.publish(resources...)
	return b
}

func (b *bench) publish(resources ...*Resource) {
	b.Helper()
	var own, shared []*Resource
	for _, r := range resources {
		if b.shares != nil && b.shares(r) {
			shared = append(shared, r)
		} else {
			own = append(own, r)
		}
	}
	mark := func(changes []change) {
		for _, c := range changes {
			b.markChanged(c, b.now)
		}
	}
	sessions := func() []*session { return []*session{b.session} }
	next := b.published.shared
	switch {
	case b.shares == nil:
	case next == nil || b.anew():
		var err error
		if next, err = NewShared(shared...); err != nil {
			b.Fatal(err)
		}
	default:
		mark(b.published.follow(next.apply(difference(next, shared)), sessions, nil))
	}
	with, err := next.With(own...)
	if err != nil {
		b.Fatal(err)
	}
	mark(b.published.replace(with, sessions()))
}

// difference returns the update after which the shared resources are the given ones.
func difference(s *Shared, to []*Resource) *Update {
	u := &Update{Changed: to}
	for typeURL, p := range s.parts {
		for i := range p.slots {
			if r := p.resource(uint32(i)); r != nil && !slices.ContainsFunc(to, func(other *Resource) bool {
				return other.TypeURL == typeURL && other.Name == r.Name
			}) {
				u.Removed = append(u.Removed, Ref{typeURL, r.Name})
			}
		}
	}
	return u
}

func (b *bench) request(typeURL string, change func(*discoveryv3.DeltaDiscoveryRequest)) ackResult {
	b.Helper()
	req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL}
	if change != nil {
		change(req)
	}
	did, err := b.handle(deltaRequest(req), &b.published, b.now)
	if err != nil {
		b.Fatal(err)
	}
	return did
}

func (b *bench) subscribe(typeURL string, names ...string) {
	b.Helper()
	b.request(typeURL, func(r *discoveryv3.DeltaDiscoveryRequest) { r.ResourceNamesSubscribe = names })
}

func (b *bench) unsubscribe(typeURL string, names ...string) {
	b.Helper()
	b.request(typeURL, func(r *discoveryv3.DeltaDiscoveryRequest) { r.ResourceNamesUnsubscribe = names })
}

func (b *bench) ack(r *discoveryv3.DeltaDiscoveryResponse) {
	b.Helper()
	did := b.request(r.GetTypeUrl(), func(q *discoveryv3.DeltaDiscoveryRequest) { q.ResponseNonce = r.GetNonce() })
	if !did.acked {
		b.Errorf("the ACK of %s was not recognized", summarizeDelta(r))
	}
}

// send returns the next response, or nil.
func (b *bench) send() *discoveryv3.DeltaDiscoveryResponse {
	b.Helper()
	for _, sub := range b.subs {
		if sub.active() && !sub.hasWork {
			b.Errorf("%s is active, but hasWork is false", typeLabel(sub.typeURL))
		}
	}
	r, _ := b.nextResponse(b.now)
	if r == nil {
		return nil
	}
	return wire(b, r)
}

// drain acknowledges responses until none is pending, and returns their summary.
func (b *bench) drain() string {
	b.Helper()
	var all []string
	for r := b.send(); r != nil; r = b.send() {
		all = append(all, summarizeDelta(r))
		b.ack(r)
	}
	return strings.Join(all, "; ")
}

func (b *bench) want(what, got, want string) {
	b.Helper()
	if got != want {
		b.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

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
