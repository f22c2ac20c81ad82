package xds

import (
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus/testutil"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestBadInput has what hostile and broken clients send. Whatever it is, others are served.
func TestBadInput(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"no node", noNode},
		{"node changes mid-stream", nodeChanges},
		{"large node", largeNode},
		{"unknown type URL", unknownType},
		{"NACK loop", nackLoop},
		{"stale nonce", worldStaleNonce},
		{"made-up nonce", nonces},
		{"ACK before send", ackBeforeSend},
		{"100k names", manyNames},
		{"unsubscribe-all is not the wildcard", unsubscribedFromAll},
		{"odd names", oddNames},
		{"names of 64 KB", longNames},
		{"state of the world and incremental mixed on one stream", mixedVariants},
		{"client that never reads", slowClientIsCut},
		{"client that says nothing", silentClient},
		{"reset every moment", resets},
		{"10k streams from one identity", manyStreams},
		{"many connections from one identity", manyConnections},
		{"identity is not the node's", otherIdentity},
		{"clock jumps over the certificate's end", clockJumps},
		{"resume with versions of another replica", foreignVersions},
	} {
		t.Run(test.name, test.run)
	}
}

// alive has another client served: whatever a test did, it hurt nobody else.
func (r *running) alive(t *testing.T) {
	t.Helper()
	r.Publish("other", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
	c := r.connect(t, "other")
	c.subscribe(ClusterType)
	eventually(t, "another client is served", func() bool {
		select {
		case <-c.ended: // the room that another left is not free yet
			c.conn.Close()
			c = r.connect(t, "other")
			c.subscribe(ClusterType)
		default:
		}
		return len(c.has(ClusterType)) == 1
	})
}

func (r *running) count(reason string) float64 {
	return testutil.ToFloat64(r.metrics.refused.WithLabelValues(reason))
}

// ends has a server refuse what a client sends, with a code and a reason.
func (r *running) ends(t *testing.T, code codes.Code, reason string, requests ...*discoveryv3.DeltaDiscoveryRequest) {
	t.Helper()
	before := r.count(reason)
	c := r.connect(t, "blue")
	for _, req := range requests {
		c.send(req)
	}
	if err := c.end(); status.Code(err) != code {
		t.Errorf("%v, want %s", err, code)
	}
	if r.count(reason) != before+1 {
		t.Errorf("%q is not counted", reason)
	}
	c.conn.Close()
	r.alive(t)
}

func noNode(t *testing.T) {
	r := start(t, byName, Options{})
	r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
	c := r.connect(t, "blue")
	c.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType})
	eventually(t, "the certificate says enough", func() bool { return len(c.has(ClusterType)) == 1 })
}

func nodeChanges(t *testing.T) {
	r := start(t, byName, Options{})
	r.Publish("blue", snapshot(t), time.Time{})
	r.ends(t, codes.InvalidArgument, reasonNode, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "blue"}},
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "red"}})
}

func largeNode(t *testing.T) {
	r := start(t, byName, Options{NodeSize: 1000})
	r.ends(t, codes.InvalidArgument, reasonNode, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{UserAgentName: strings.Repeat("x", 1000)}})
}

func unknownType(t *testing.T) {
	b := newBench(t, text(ClusterType, "a", "1"))
	b.subscribe("type.googleapis.com/no.such.Type", "a")
	b.want("there is none", b.drain(), "other -a")
	b.close(b.published)
	if len(b.published) != 1 {
		t.Errorf("tables of types that nobody published pile up: %d", len(b.published))
	}
	w := newWorldBench(t)
	w.ask("no such type", "a")
	w.want("silence", w.drain(), "")
}

func nackLoop(t *testing.T) {
	b := newBench(t, text(ClusterType, "a", "bad"))
	b.subscribe(ClusterType)
	r := b.send()
	for range 1000 {
		b.request(ClusterType, func(q *discoveryv3.DeltaDiscoveryRequest) {
			q.ResponseNonce, q.ErrorDetail = r.GetNonce(), &statuspb.Status{Message: strings.Repeat("no ", 10_000)}
		})
		if again := b.send(); again != nil {
			t.Fatalf("it is sent what it refused: %s", brief(again))
		}
	}
	if n := len(b.of(ClusterType).nack.Message); n > maxMessage {
		t.Errorf("%d bytes of its error text are kept", n)
	}
}

func ackBeforeSend(t *testing.T) {
	b := newBench(t, text(ClusterType, "a", "1"))
	if did := b.request(ClusterType, func(q *discoveryv3.DeltaDiscoveryRequest) { q.ResponseNonce = "1" }); did.acked {
		t.Error("acknowledged what was not sent")
	}
	b.want("it is sent all the same", b.drain(), "cluster +a")
	w := newWorldBench(t, one(ClusterType, "a@1"))
	if did := w.request(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: "1", VersionInfo: "1"}); did.acked {
		t.Error("acknowledged what was not sent")
	}
	w.want("it is sent all the same", w.drain(), "cluster a@1")
}

func manyNames(t *testing.T) {
	names := make([]string, 100_001)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	for _, world := range []bool{false, true} {
		b := newBench(t)
		b.session = newSession(b.opts, nil, world)
		ask := func(names []string) error {
			_, err := b.handle(request{typeURL: RouteType, subscribe: names, names: names}, b.published, b.now)
			return err
		}
		if err := ask(names[:100_000]); err != nil {
			t.Errorf("100k names: %v", err)
		}
		b.next(b.now)
		if err := ask(names[:100_000]); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if err := ask(names); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one more: %v", err)
		}
		b.close(b.published)
		if len(b.published) != 0 {
			t.Error("names stay when their client is gone")
		}
	}
	r := start(t, byName, Options{NamesPerType: 10})
	r.ends(t, codes.ResourceExhausted, reasonNames, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: names[:11]})
}

func oddNames(t *testing.T) {
	for _, name := range []string{"a|b", "%00", "%2F..%2f", "/", "xdstp://a/b?c=d", "‮", "\x00", strings.Repeat("n", 4<<10)} {
		b := newBench(t, text(RouteType, name, "1"))
		b.subscribe(RouteType, name)
		b.want(name, b.drain(), "route +"+name)
		b.publish()
		b.want(name, b.drain(), "route -"+name)
	}
}

func longNames(t *testing.T) {
	r := start(t, byName, Options{})
	long := strings.Repeat("n", 64<<10)
	r.ends(t, codes.InvalidArgument, reasonName, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: []string{long}})
	r.ends(t, codes.InvalidArgument, reasonName, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: long})
	r.ends(t, codes.InvalidArgument, reasonName, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, InitialResourceVersions: map[string]string{long: "1"}})
}

// A request of one variant does not decode as one of the other, or has no type.
func mixedVariants(t *testing.T) {
	r := start(t, byName, Options{})
	r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	eventually(t, "served", func() bool { return len(c.has(ClusterType)) == 1 })
	if err := c.stream.SendMsg(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, VersionInfo: "x", ResourceNames: []string{"a"}, ResponseNonce: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := c.end(); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	eventually(t, "counted", func() bool { return r.count(reasonMalformed) == 1 })
	r.alive(t)
}

func silentClient(t *testing.T) {
	r := start(t, byName, Options{FirstRequestTimeout: 10 * time.Millisecond})
	if err := r.connect(t, "blue").end(); err == nil {
		t.Error("no error")
	}
	eventually(t, "counted", func() bool { return testutil.ToFloat64(r.metrics.ended.WithLabelValues(reasonSilent)) >= 1 })
}

func foreignVersions(t *testing.T) {
	a, c := text(ClusterType, "a", "1"), text(ClusterType, "c", "1")
	b := newBench(t, a, c)
	b.request(ClusterType, func(r *discoveryv3.DeltaDiscoveryRequest) {
		r.InitialResourceVersions = map[string]string{"a": a.Version, "c": "17", "x": a.Version}
	})
	b.want("what is equal is not sent, whoever sent it before; what is not known is", b.drain(), "cluster +c; cluster -x")
}
