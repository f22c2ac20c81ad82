package xds

import (
	"slices"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// worldBench is a bench for the state-of-the-world variant. Resources in it say their name, which that variant has no other place for.
type worldBench struct {
	*bench
	last map[string]*discoveryv3.DiscoveryResponse
}

func newWorldBench(t *testing.T, resources ...*Resource) *worldBench {
	b := newBench(t, resources...)
	b.session = newSession(b.opts, nil, true)
	return &worldBench{b, map[string]*discoveryv3.DiscoveryResponse{}}
}

// one is a resource in a version: "a@1".
func one(typeURL, text_ string) *Resource {
	name, _, _ := strings.Cut(text_, "@")
	return text(typeURL, name, text_)
}

func all(typeURL string, texts ...string) []*Resource {
	var out []*Resource
	for _, s := range texts {
		out = append(out, one(typeURL, s))
	}
	return out
}

func (b *worldBench) request(r *discoveryv3.DiscoveryRequest) reaction {
	b.Helper()
	did, err := b.handle(worldRequest(r), b.published, b.now)
	if err != nil {
		b.Fatal(err)
	}
	return did
}

// ask sends the names with the nonce of the last response, as clients do.
func (b *worldBench) ask(typeURL string, names ...string) {
	b.Helper()
	b.request(&discoveryv3.DiscoveryRequest{
		TypeUrl: typeURL, ResourceNames: names, ResponseNonce: b.last[typeURL].GetNonce(), VersionInfo: b.last[typeURL].GetVersionInfo(),
	})
}

func (b *worldBench) send() *discoveryv3.DiscoveryResponse {
	b.Helper()
	r, _ := b.next(b.now)
	if r == nil {
		return nil
	}
	out := worldWire(b, r)
	b.last[r.typeURL] = out
	return out
}

func worldWire(t testing.TB, r *response) *discoveryv3.DiscoveryResponse {
	t.Helper()
	out := &discoveryv3.DiscoveryResponse{}
	if err := proto.Unmarshal(bytesOf(t, r), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// names are those that the session knows the client to want: an ACK repeats them.
func (b *worldBench) names(typeURL string) []string {
	s := b.of(typeURL)
	var out []string
	for n, e := range s.entries {
		if e&entryNamed != 0 {
			out = append(out, s.table.name(uint32(n)))
		}
	}
	if s.wildcard && s.world.explicit {
		out = append(out, "*")
	}
	return out
}

// drain acknowledges responses until none is left, and returns them in brief: "cluster a@1 b@1; route r@1".
func (b *worldBench) drain() string {
	b.Helper()
	var out []string
	for r := b.send(); r != nil; r = b.send() {
		out = append(out, worldBrief(r))
		did := b.request(&discoveryv3.DiscoveryRequest{
			TypeUrl: r.GetTypeUrl(), ResourceNames: b.names(r.GetTypeUrl()), ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo(),
		})
		if !did.acked {
			b.Errorf("the ACK of %s was not understood", worldBrief(r))
		}
	}
	return strings.Join(out, "; ")
}

func worldBrief(r *discoveryv3.DiscoveryResponse) string {
	var texts []string
	for _, a := range r.GetResources() {
		s := &wrapperspb.StringValue{}
		if a.GetTypeUrl() != r.GetTypeUrl() || proto.Unmarshal(a.GetValue(), s) != nil {
			return "a resource that is not of type " + r.GetTypeUrl()
		}
		texts = append(texts, s.GetValue())
	}
	slices.Sort(texts)
	return strings.Join(append([]string{label(r.GetTypeUrl())}, texts...), " ")
}

func worldHoldsAllClustersAndListeners(t *testing.T) {
	b := newWorldBench(t, all(ClusterType, "a@1", "b@1")...)
	b.ask(ClusterType)
	b.want("the first", b.drain(), "cluster a@1 b@1")
	b.publish(all(ClusterType, "a@2", "b@1")...)
	b.want("all, though one changed", b.drain(), "cluster a@2 b@1")
	b.publish(all(ClusterType, "a@2", "b@1")...)
	b.want("nothing changed", b.drain(), "")

	b = newWorldBench(t, all(EndpointType, "a@1", "b@1", "c@1")...)
	b.ask(EndpointType, "a", "b")
	b.want("by name", b.drain(), "endpoint a@1 b@1")
	b.publish(all(EndpointType, "a@2", "b@1", "c@2")...)
	b.want("only what changed", b.drain(), "endpoint a@2")
}

func worldDeletesByAbsence(t *testing.T) {
	b := newWorldBench(t, all(ListenerType, "a@1", "b@1")...)
	b.ask(ListenerType)
	b.drain()
	b.publish(all(ListenerType, "b@1")...)
	b.want("what is not there is gone", b.drain(), "listener b@1")
	b.publish()
	b.want("all are gone", b.drain(), "listener")

	b = newWorldBench(t, all(RouteType, "a@1")...)
	b.ask(RouteType, "a")
	b.drain()
	b.publish()
	b.want("there is no way to say that a route is gone", b.drain(), "")
	b.publish(all(RouteType, "a@1")...)
	b.want("it is back", b.drain(), "route a@1")
}

func worldWildcard(t *testing.T) {
	b := newWorldBench(t, all(ClusterType, "A@1", "B@1")...)
	b.ask(ClusterType)
	b.want("unset is *", b.drain(), "cluster A@1 B@1")
	b.ask(ClusterType, "*", "A")
	b.want("* goes on, and A is new", b.drain(), "cluster A@1 B@1")
	b.ask(ClusterType, "A")
	b.publish(all(ClusterType, "A@2", "B@2")...)
	b.want("only A goes on", b.drain(), "cluster A@2")
	b.ask(ClusterType)
	b.publish(all(ClusterType, "A@3", "B@3")...)
	b.want("unset is nothing now", b.drain(), "")
	b.ask(ClusterType, "*")
	b.want("all again", b.drain(), "cluster A@3 B@3")

	b = newWorldBench(t, all(EndpointType, "a@1")...)
	b.ask(EndpointType)
	b.want("endpoints have no wildcard that goes without saying", b.drain(), "")
}

func worldNames(t *testing.T) {
	b := newWorldBench(t, all(ListenerType, "a@1", "b@1")...)
	b.ask(ListenerType, "a", "x")
	b.want("an answer that lacks x says so", b.drain(), "listener a@1")
	b.ask(ListenerType, "a", "x", "a")
	b.want("nothing new", b.drain(), "")
	b.publish(all(ListenerType, "a@1", "b@2", "x@1")...)
	b.want("x is there", b.drain(), "listener a@1 x@1")

	b = newWorldBench(t, all(RouteType, "a@1", "b@1")...)
	b.ask(RouteType, "a")
	b.drain()
	b.ask(RouteType, "a", "b", "x")
	b.want("what is new, as far as it is there", b.drain(), "route b@1")
	b.publish(all(RouteType, "a@1", "b@1", "x@1")...)
	b.want("what was asked for is remembered", b.drain(), "route x@1")
	b.ask(RouteType, "b", "x")
	b.publish(all(RouteType, "a@2", "b@2", "x@1")...)
	b.want("a is not wanted any more", b.drain(), "route b@2")
	b.ask(RouteType, "a", "b", "x")
	b.want("a is wanted again", b.drain(), "route a@2")
}

func worldStaleNonce(t *testing.T) {
	b := newWorldBench(t, all(RouteType, "a@1", "b@1")...)
	b.ask(RouteType, "a")
	old := b.send()
	b.drain()
	b.ask(RouteType, "a")
	b.publish(all(RouteType, "a@2", "b@1")...)
	b.now = b.now.Add(b.opts.AckTimeout)
	b.send()
	if did := b.request(&discoveryv3.DiscoveryRequest{TypeUrl: RouteType, ResourceNames: []string{"a", "b"}, ResponseNonce: old.GetNonce()}); !did.unknownNonce {
		t.Errorf("reaction %+v", did)
	}
	b.want("no answer to what is stale", b.drain(), "")
	b.ask(RouteType, "a", "b")
	b.want("the client asks again when it has seen the last response", b.drain(), "route b@1")
}

func worldNack(t *testing.T) {
	b := newWorldBench(t, all(ClusterType, "a@bad", "b@1")...)
	b.ask(ClusterType)
	r := b.send()
	did := b.request(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: r.GetNonce(), ErrorDetail: &statuspb.Status{Message: "no"}})
	if !did.rejected || did.message != "no" || !slices.Equal(did.refuses, []string{"a", "b"}) {
		t.Errorf("reaction %+v", did)
	}
	b.want("not sent again", b.drain(), "")
	b.ask(ClusterType)
	b.want("whatever the client asks", b.drain(), "")
	b.publish(all(ClusterType, "a@good", "b@1")...)
	r = b.send()
	b.want("mended", worldBrief(r), "cluster a@good b@1")
	did = b.request(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo()})
	if !did.acked || len(did.refuses) != 0 {
		t.Errorf("reaction %+v", did)
	}
}

func worldMakeBeforeBreak(t *testing.T) {
	old := append(all(ClusterType, "old@1"), one(EndpointType, "old@1"), one(RouteType, "r@to old"))
	b := newWorldBench(t, old...)
	b.ask(ClusterType)
	b.ask(EndpointType, "old", "new")
	b.ask(RouteType, "r")
	b.want("start", b.drain(), "cluster old@1; endpoint old@1; route r@to old")
	b.publish(one(ClusterType, "new@1"), one(EndpointType, "new@1"), one(RouteType, "r@to new"))
	b.want("change", b.drain(), "cluster new@1 old@1; endpoint new@1; route r@to new; cluster new@1")
}

func worldWarming(t *testing.T) {
	b := newWorldBench(t, one(ClusterType, "a@1"), one(ClusterType, "b@1"), one(EndpointType, "a@1"), one(EndpointType, "b@1"))
	b.ask(ClusterType)
	b.ask(EndpointType, "a", "b")
	b.drain()
	b.publish(one(ClusterType, "a@2"), one(ClusterType, "b@1"), one(EndpointType, "a@1"), one(EndpointType, "b@1"))
	b.want("a cluster that changed waits for its endpoints", b.drain(), "cluster a@2 b@1; endpoint a@1")
}
