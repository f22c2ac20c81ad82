package xds

import (
	"maps"
	"slices"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// sotwBench is a bench for the state-of-the-world variant. The content of its resources includes the name, which the
// variant does not send separately.
type sotwBench struct {
	*bench
	last map[string]*discoveryv3.DiscoveryResponse
}

func newSotwBench(t *testing.T, resources ...*Resource) *sotwBench {
	b := newBench(t, resources...)
	b.session = newSession(b.opts, nil, true)
	return &sotwBench{b, map[string]*discoveryv3.DiscoveryResponse{}}
}

// one creates a resource with a version: "a@1".
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

func (b *sotwBench) request(r *discoveryv3.DiscoveryRequest) ackResult {
	b.Helper()
	did, err := b.handle(sotwRequest(r), &b.published, b.now)
	if err != nil {
		b.Fatal(err)
	}
	return did
}

// ask sends the names with the nonce of the last response, as clients do.
func (b *sotwBench) ask(typeURL string, names ...string) {
	b.Helper()
	b.request(&discoveryv3.DiscoveryRequest{
		TypeUrl: typeURL, ResourceNames: names, ResponseNonce: b.last[typeURL].GetNonce(),
		VersionInfo: b.last[typeURL].GetVersionInfo(),
	})
}

func (b *sotwBench) send() *discoveryv3.DiscoveryResponse {
	b.Helper()
	r, _ := b.nextResponse(b.now)
	if r == nil {
		return nil
	}
	out := sotwWire(b, r)
	b.last[r.typeURL] = out
	return out
}

func sotwWire(t testing.TB, r *response) *discoveryv3.DiscoveryResponse {
	t.Helper()
	out := &discoveryv3.DiscoveryResponse{}
	if err := proto.Unmarshal(bytesOf(t, r), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// names returns the names of the subscription: an ACK repeats them.
func (b *sotwBench) names(typeURL string) []string {
	s := b.subscription(typeURL)
	var out []string
	for n, e := range s.all() {
		if e&entryNamed != 0 {
			out = append(out, s.table.name(n))
		}
	}
	if s.wildcard && s.sotw.namesSeen {
		out = append(out, "*")
	}
	return out
}

// drain acknowledges responses until none is pending, and returns their summary: "cluster a@1 b@1; route r@1".
func (b *sotwBench) drain() string {
	b.Helper()
	var out []string
	for r := b.send(); r != nil; r = b.send() {
		out = append(out, summarizeSotw(r))
		did := b.request(&discoveryv3.DiscoveryRequest{
			TypeUrl: r.GetTypeUrl(), ResourceNames: b.names(r.GetTypeUrl()), ResponseNonce: r.GetNonce(),
			VersionInfo: r.GetVersionInfo(),
		})
		if !did.acked {
			b.Errorf("the ACK of %s was not recognized", summarizeSotw(r))
		}
	}
	return strings.Join(out, "; ")
}

func summarizeSotw(r *discoveryv3.DiscoveryResponse) string {
	var texts []string
	for _, a := range r.GetResources() {
		s := &wrapperspb.StringValue{}
		if a.GetTypeUrl() != r.GetTypeUrl() || proto.Unmarshal(a.GetValue(), s) != nil {
			return "a resource that is not of type " + r.GetTypeUrl()
		}
		texts = append(texts, s.GetValue())
	}
	slices.Sort(texts)
	return strings.Join(append([]string{typeLabel(r.GetTypeUrl())}, texts...), " ")
}

func sotwSendsAllClustersAndListeners(t *testing.T) {
	b := newSotwBench(t, all(ClusterType, "a@1", "b@1")...)
	b.ask(ClusterType)
	b.want("the first", b.drain(), "cluster a@1 b@1")
	b.publish(all(ClusterType, "a@2", "b@1")...)
	b.want("all clusters although one changed", b.drain(), "cluster a@2 b@1")
	b.publish(all(ClusterType, "a@2", "b@1")...)
	b.want("nothing changed", b.drain(), "")

	b = newSotwBench(t, all(EndpointType, "a@1", "b@1", "c@1")...)
	b.ask(EndpointType, "a", "b")
	b.want("by name", b.drain(), "endpoint a@1 b@1")
	b.publish(all(EndpointType, "a@2", "b@1", "c@2")...)
	b.want("only what changed", b.drain(), "endpoint a@2")
}

func sotwRemovesByOmission(t *testing.T) {
	b := newSotwBench(t, all(ListenerType, "a@1", "b@1")...)
	b.ask(ListenerType)
	b.drain()
	b.publish(all(ListenerType, "b@1")...)
	b.want("a missing listener is removed", b.drain(), "listener b@1")
	b.publish()
	b.want("all listeners are removed", b.drain(), "listener")

	b = newSotwBench(t, all(RouteType, "a@1")...)
	b.ask(RouteType, "a")
	b.drain()
	b.publish()
	b.want("SotW cannot express the removal of a route", b.drain(), "")
	b.publish(all(RouteType, "a@1")...)
	b.want("the route exists again", b.drain(), "route a@1")
}

func sotwWildcard(t *testing.T) {
	b := newSotwBench(t, all(ClusterType, "A@1", "B@1")...)
	b.ask(ClusterType)
	b.want("unset is *", b.drain(), "cluster A@1 B@1")
	b.ask(ClusterType, "*", "A")
	b.want("* stays, and A is added", b.drain(), "cluster A@1 B@1")
	b.ask(ClusterType, "A")
	b.publish(all(ClusterType, "A@2", "B@2")...)
	b.want("only A is left", b.drain(), "cluster A@2")
	b.ask(ClusterType)
	b.publish(all(ClusterType, "A@3", "B@3")...)
	b.want("after names, unset is empty", b.drain(), "")
	b.ask(ClusterType, "*")
	b.want("all again", b.drain(), "cluster A@3 B@3")

	b = newSotwBench(t, all(EndpointType, "a@1")...)
	b.ask(EndpointType)
	b.want("endpoints have no implicit wildcard", b.drain(), "")
}

func sotwNamedResources(t *testing.T) {
	b := newSotwBench(t, all(ListenerType, "a@1", "b@1")...)
	b.ask(ListenerType, "a", "x")
	b.want("x is missing in the response", b.drain(), "listener a@1")
	b.ask(ListenerType, "a", "x", "a")
	b.want("nothing new", b.drain(), "")
	b.publish(all(ListenerType, "a@1", "b@2", "x@1")...)
	b.want("x exists", b.drain(), "listener a@1 x@1")

	b = newSotwBench(t, all(RouteType, "a@1", "b@1")...)
	b.ask(RouteType, "a")
	b.drain()
	b.ask(RouteType, "a", "b", "x")
	b.want("only the new names that exist", b.drain(), "route b@1")
	b.publish(all(RouteType, "a@1", "b@1", "x@1")...)
	b.want("the subscription to x is kept", b.drain(), "route x@1")
	b.ask(RouteType, "b", "x")
	b.publish(all(RouteType, "a@2", "b@2", "x@1")...)
	b.want("a is unsubscribed", b.drain(), "route b@2")
	b.ask(RouteType, "a", "b", "x")
	b.want("a is subscribed again", b.drain(), "route a@2")
}

func sotwStaleNonce(t *testing.T) {
	b := newSotwBench(t, all(RouteType, "a@1", "b@1")...)
	b.ask(RouteType, "a")
	old := b.send()
	b.drain()
	b.ask(RouteType, "a")
	b.publish(all(RouteType, "a@2", "b@1")...)
	b.now = b.now.Add(b.opts.AckTimeout)
	b.send()
	if did := b.request(&discoveryv3.DiscoveryRequest{TypeUrl: RouteType, ResourceNames: []string{"a", "b"},
		ResponseNonce: old.GetNonce()}); !did.unknownNonce {
		t.Errorf("reaction %+v", did)
	}
	b.want("no response to a stale nonce", b.drain(), "")
	b.ask(RouteType, "a", "b")
	b.want("the client repeats the request after the last response", b.drain(), "route b@1")
}

func sotwNack(t *testing.T) {
	b := newSotwBench(t, all(ClusterType, "a@bad", "b@1")...)
	b.ask(ClusterType)
	r := b.send()
	did := b.request(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: r.GetNonce(),
		ErrorDetail: &statuspb.Status{Message: "no"}})
	if !did.nacked || did.message != "no" || !slices.Equal(slices.Sorted(maps.Keys(did.rejected)), []string{"a", "b"}) {
		t.Errorf("reaction %+v", did)
	}
	b.want("not sent again", b.drain(), "")
	b.ask(ClusterType)
	b.want("not sent after another request", b.drain(), "")
	b.publish(all(ClusterType, "a@good", "b@1")...)
	r = b.send()
	b.want("corrected resource", summarizeSotw(r), "cluster a@good b@1")
	did = b.request(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: r.GetNonce(),
		VersionInfo: r.GetVersionInfo()})
	if !did.acked || len(did.rejected) != 0 {
		t.Errorf("reaction %+v", did)
	}
}

func sotwMakeBeforeBreak(t *testing.T) {
	old := append(all(ClusterType, "old@1"), one(EndpointType, "old@1"), one(RouteType, "r@to old"))
	b := newSotwBench(t, old...)
	b.ask(ClusterType)
	b.ask(EndpointType, "old", "new")
	b.ask(RouteType, "r")
	b.want("start", b.drain(), "cluster old@1; endpoint old@1; route r@to old")
	b.publish(one(ClusterType, "new@1"), one(EndpointType, "new@1"), one(RouteType, "r@to new"))
	b.want("change", b.drain(), "cluster new@1 old@1; endpoint new@1; route r@to new; cluster new@1")
}

func sotwWarming(t *testing.T) {
	b := newSotwBench(t, one(ClusterType, "a@1"), one(ClusterType, "b@1"), one(EndpointType, "a@1"),
		one(EndpointType, "b@1"))
	b.ask(ClusterType)
	b.ask(EndpointType, "a", "b")
	b.drain()
	b.publish(one(ClusterType, "a@2"), one(ClusterType, "b@1"), one(EndpointType, "a@1"), one(EndpointType, "b@1"))
	b.want("a cluster that changed waits for its endpoints", b.drain(), "cluster a@2 b@1; endpoint a@1")
}
