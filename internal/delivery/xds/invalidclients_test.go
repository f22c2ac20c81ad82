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

// TestInvalidClients runs hostile and broken clients. Other clients are still served after each.
func TestInvalidClients(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"no node", requestWithoutNode},
		{"node changes mid-stream", nodeChangesMidStream},
		{"large node", largeNode},
		{"unknown type URL", unknownType},
		{"NACK loop", nackLoop},
		{"stale nonce", sotwStaleNonce},
		{"unknown nonce", unknownNonces},
		{"ACK before send", ackBeforeSend},
		{"100k names", manyNames},
		{"unsubscribe-all is not the wildcard", unsubscribeAllIsNotWildcard},
		{"odd names", oddNames},
		{"names of 64 KB", longNames},
		{"state of the world and incremental mixed on one stream", mixedVariants},
		{"client that never reads", clientThatNeverReads},
		{"client without a request", clientWithoutRequest},
		{"repeated resets", repeatedResets},
		{"10k streams from one identity", manyStreams},
		{"many connections from one identity", manyConnections},
		{"identity is not the node's", nodeOfAnotherIdentity},
		{"clock jumps past the certificate's expiry", clockJumpsPastExpiry},
		{"initial versions of another replica", versionsOfAnotherReplica},
	} {
		t.Run(test.name, test.run)
	}
}

// checkOtherClientServed checks that another client is still served.
func (r *testServer) checkOtherClientServed(t *testing.T) {
	t.Helper()
	r.Publish("other", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
	c := r.connect(t, "other")
	c.subscribe(ClusterType)
	eventually(t, "another client is served", func() bool {
		select {
		case <-c.ended: // the connection of the previous client still counts
			c.conn.Close()
			c = r.connect(t, "other")
			c.subscribe(ClusterType)
		default:
		}
		return len(c.has(ClusterType)) == 1
	})
}

func (r *testServer) refusedCount(reason string) float64 {
	return testutil.ToFloat64(r.metrics.refused.WithLabelValues(reason))
}

// expectRefused sends requests, and checks that the server closes the stream with a code and counts a reason.
func (r *testServer) expectRefused(t *testing.T, code codes.Code, reason string,
	requests ...*discoveryv3.DeltaDiscoveryRequest) {
	t.Helper()
	before := r.refusedCount(reason)
	c := r.connect(t, "blue")
	for _, req := range requests {
		c.send(req)
	}
	if err := c.end(); status.Code(err) != code {
		t.Errorf("%v, want %s", err, code)
	}
	if r.refusedCount(reason) != before+1 {
		t.Errorf("%q is not counted", reason)
	}
	c.conn.Close()
	r.checkOtherClientServed(t)
}

func requestWithoutNode(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
	c := r.connect(t, "blue")
	c.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType})
	eventually(t, "the certificate is sufficient", func() bool { return len(c.has(ClusterType)) == 1 })
}

func nodeChangesMidStream(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	r.Publish("blue", snapshot(t), time.Time{})
	r.expectRefused(t, codes.InvalidArgument, reasonNode,
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "blue"}},
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "red"}})
}

func largeNode(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{MaxNodeSize: 1000})
	r.expectRefused(t, codes.InvalidArgument, reasonNode,
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType,
			Node: &corev3.Node{UserAgentName: strings.Repeat("x", 1000)}})
}

func unknownType(t *testing.T) {
	b := newBench(t, text(ClusterType, "a", "1"))
	b.subscribe("type.googleapis.com/no.such.Type", "a")
	b.want("the resource does not exist", b.drain(), "other -a")
	b.close(&b.published)
	if len(b.published.tables) != 1 {
		t.Errorf("tables of unpublished types are left: %d", len(b.published.tables))
	}
	w := newSotwBench(t)
	w.ask("no such type", "a")
	w.want("no response", w.drain(), "")
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
			t.Fatalf("a rejected resource was sent again: %s", summarizeDelta(again))
		}
	}
	if n := len(b.subscription(ClusterType).lastNack.Message); n > maxMessage {
		t.Errorf("%d bytes of the NACK message are stored", n)
	}
}

func ackBeforeSend(t *testing.T) {
	b := newBench(t, text(ClusterType, "a", "1"))
	if did := b.request(ClusterType, func(q *discoveryv3.DeltaDiscoveryRequest) { q.ResponseNonce = "1" }); did.acked {
		t.Error("a request before the first response is an ACK")
	}
	b.want("the resource is still sent", b.drain(), "cluster +a")
	w := newSotwBench(t, one(ClusterType, "a@1"))
	if did := w.request(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: "1",
		VersionInfo: "1"}); did.acked {
		t.Error("a request before the first response is an ACK")
	}
	w.want("the resource is still sent", w.drain(), "cluster a@1")
}

func manyNames(t *testing.T) {
	names := make([]string, 100_001)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	for name, sotw := range map[string]bool{"delta": false, "sotw": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.session = newSession(b.opts, nil, sotw)
			ask := func(names []string) error {
				_, err := b.handle(request{typeURL: RouteType, subscribe: names, sotwNames: names}, &b.published, b.now)
				return err
			}
			if err := ask(names[:100_000]); err != nil {
				t.Errorf("100k names: got error %v", err)
			}
			b.nextResponse(b.now)
			if err := ask(names[:100_000]); err != nil {
				t.Errorf("the same names again: got error %v", err)
			}
			if err := ask(names); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("one more name: got error %v", err)
			}
			b.close(&b.published)
			if len(b.published.tables) != 0 {
				t.Error("names are left after close")
			}
		})
	}
	r := startServer(t, authorizeByCommonName, Options{MaxNamesPerType: 10})
	r.expectRefused(t, codes.ResourceExhausted, reasonResourceNames,
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: names[:11]})
}

func oddNames(t *testing.T) {
	for _, name := range []string{"a|b", "%00", "%2F..%2f", "/", "xdstp://a/b?c=d", "‮", "\x00",
		strings.Repeat("n", 4<<10)} {
		b := newBench(t, text(RouteType, name, "1"))
		b.subscribe(RouteType, name)
		b.want(name, b.drain(), "route +"+name)
		b.publish()
		b.want(name, b.drain(), "route -"+name)
	}
}

func longNames(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	long := strings.Repeat("n", 64<<10)
	r.expectRefused(t, codes.InvalidArgument, reasonResourceName,
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: []string{long}})
	r.expectRefused(t, codes.InvalidArgument, reasonResourceName, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: long})
	r.expectRefused(t, codes.InvalidArgument, reasonResourceName,
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, InitialResourceVersions: map[string]string{long: "1"}})
}

// A request of the other variant does not decode, or has no type.
func mixedVariants(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	eventually(t, "served", func() bool { return len(c.has(ClusterType)) == 1 })
	if err := c.stream.SendMsg(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, VersionInfo: "x",
		ResourceNames: []string{"a"}, ResponseNonce: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := c.end(); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	eventually(t, "counted", func() bool { return r.refusedCount(reasonMalformed) == 1 })
	r.checkOtherClientServed(t)
}

func clientWithoutRequest(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{FirstRequestTimeout: 10 * time.Millisecond})
	if err := r.connect(t, "blue").end(); err == nil {
		t.Error("no error")
	}
	eventually(t, "counted", func() bool {
		return testutil.ToFloat64(r.metrics.closed.WithLabelValues(reasonFirstRequestTimeout)) >= 1
	})
}

func versionsOfAnotherReplica(t *testing.T) {
	a, c := text(ClusterType, "a", "1"), text(ClusterType, "c", "1")
	b := newBench(t, a, c)
	b.request(ClusterType, func(r *discoveryv3.DeltaDiscoveryRequest) {
		r.InitialResourceVersions = map[string]string{"a": a.Version, "c": "17", "x": a.Version}
	})
	b.want("equal versions of another replica are not sent, unknown ones are", b.drain(), "cluster +c; cluster -x")
}
