package xds

import (
	"fmt"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func unpublishedNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("unpublished-", i))
	}
	return names
}

// The budget of an identity counts all its streams; published names cost little.
func TestSubscriptionSizePerIdentity(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{MaxSubscriptionSizePerIdentity: 20_000})
	var published []*Resource
	for _, name := range unpublishedNames(500) {
		published = append(published, text(ClusterType, name, "1"))
	}
	r.Publish("blue", snapshot(t, published...), time.Time{})
	c := r.connect(t, "blue")
	c.subscribe(ClusterType, unpublishedNames(500)...)
	c.subscribe(RouteType, unpublishedNames(20)...)
	eventually(t, "served", func() bool { return len(c.has(ClusterType)) == 500 })
	r.expectRefused(t, codes.ResourceExhausted, reasonSubscriptionSize,
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: unpublishedNames(20)})
	select {
	case <-c.ended:
		t.Error("the other stream was closed")
	default:
	}
	c.conn.Close()
	eventually(t, "only the other client is charged", func() bool { return r.clientLimits.subscriptions.Load() < 3000 })
}

// Subscriptions that change leave no charge.
func TestSubscriptionBudgetIsBalanced(t *testing.T) {
	for name, sotw := range map[string]bool{"delta": false, "sotw": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, text(RouteType, "unpublished-3", "1"))
			b.session = newSession(b.opts, nil, sotw)
			l := clientLimits{}
			b.budget = &subscriptionBudget{limit: 1 << 20, total: &l.subscriptions}
			ask := func(names ...string) {
				t.Helper()
				req := request{typeURL: RouteType, subscribe: names, sotwNames: names}
				if _, err := b.handle(req, &b.published, b.now); err != nil {
					t.Fatal(err)
				}
				b.nextResponse(b.now)
			}
			ask(unpublishedNames(10)...)
			if n, want := l.subscriptions.Load(), int64(typeCost+9*placeholderCost); n < want || n > want+1000 {
				t.Errorf("%d bytes are charged, want at least %d", n, want)
			}
			b.publish(text(RouteType, "unpublished-4", "1"))
			ask("xdstp://a/b/*", "unpublished-1")
			ask("unpublished-1")
			_, _ = b.handle(request{typeURL: RouteType, unsubscribe: []string{"xdstp://a/b/*", "unpublished-1"}}, &b.published, b.now)
			b.publish()
			b.close(&b.published)
			if n := l.subscriptions.Load(); n != 0 {
				t.Errorf("%d bytes are charged at the end", n)
			}
		})
	}
}

// Beyond the total, the identity with the largest subscriptions is cut.
func TestLargestSubscriptionsAreCut(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{MaxSubscriptionSize: 30_000})
	large, small := r.connect(t, "large"), r.connect(t, "small")
	small.subscribe(RouteType, unpublishedNames(10)...)
	large.subscribe(RouteType, unpublishedNames(50)...)
	eventually(t, "charged", func() bool { return r.clientLimits.subscriptions.Load() > 25_000 })
	small.subscribe(ClusterType, unpublishedNames(10)...)
	if err := large.end(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the stream with the largest subscriptions ended with %v", err)
	}
	eventually(t, "only the other is left", func() bool { return len(r.Clients()) == 1 && r.Clients()[0].Key == "small" })
	if n := r.refusedCount(reasonSubscriptionSize); n != 1 {
		t.Errorf("%v refusals are counted", n)
	}
}

// Beyond the total, the identity with the most streams loses one, or the new stream is refused.
func TestMaxStreams(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{MaxStreams: 3})
	many := r.dial(t, r.ca.leaf(t, "many", time.Hour))
	for i := range 3 {
		r.connectOn(t, many).subscribe(ClusterType)
		eventually(t, "connected", func() bool { return len(r.Clients()) == i+1 })
	}
	r.connect(t, "one").subscribe(ClusterType)
	count := func() map[string]int {
		all := map[string]int{}
		for _, c := range r.Clients() {
			all[c.Key]++
		}
		return all
	}
	eventually(t, "another client takes the place of one", func() bool { return count()["many"] == 2 && count()["one"] == 1 })
	two := r.connect(t, "two")
	two.subscribe(ClusterType)
	eventually(t, "and another", func() bool { return count()["many"] == 1 && count()["two"] == 1 })
	three := r.connect(t, "three")
	three.subscribe(ClusterType)
	if err := three.end(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one stream too many: got error %v", err)
	}
}
