package xds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestResourceIsOnTheWireWhatItSays(t *testing.T) {
	want := &clusterv3.Cluster{Name: "blue", AltStatName: "b"}
	r, err := NewResource("blue", want)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := NewResource("blue", proto.Clone(want))
	other, _ := NewResource("blue", &clusterv3.Cluster{Name: "blue"})
	if r.Version != again.Version || r.Version == other.Version {
		t.Errorf("versions %q %q %q", r.Version, again.Version, other.Version)
	}
	out := wire(t, &response{typeURL: ClusterType, nonce: "7", version: "v", changed: []*Resource{r}, removed: []string{"x"}})
	if out.GetNonce() != "7" || out.GetSystemVersionInfo() != "v" || !slices.Equal(out.GetRemovedResources(), []string{"x"}) {
		t.Errorf("response %v", out)
	}
	res := out.GetResources()[0]
	got := &clusterv3.Cluster{}
	if err := res.GetResource().UnmarshalTo(got); err != nil || !proto.Equal(got, want) {
		t.Errorf("resource %v, %v", got, err)
	}
	if res.GetName() != "blue" || res.GetVersion() != r.Version || r.TypeURL != ClusterType {
		t.Errorf("resource %q %q %q", res.GetName(), res.GetVersion(), r.TypeURL)
	}
	if body := (&clusterv3.Cluster{}); proto.Unmarshal(r.Body(), body) != nil || !proto.Equal(body, want) {
		t.Error("Body is not the message")
	}
	if _, err := NewResource("", want); err == nil {
		t.Error("an empty name was accepted")
	}
	if _, err := NewSnapshot(r, other); err == nil || !strings.Contains(err.Error(), `"blue"`) {
		t.Errorf("two resources of one name: %v", err)
	}
}

func TestServe(t *testing.T) {
	r := start(t, byName, Options{})
	r.Publish("blue", snapshot(t, text(ClusterType, "c", "1"), text(RouteType, "r", "1")))
	r.Publish("red", snapshot(t, text(ClusterType, "other's", "1")))
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	c.subscribe(RouteType, "r")
	eventually(t, "both", func() bool { return len(c.has(ClusterType)) == 1 && len(c.has(RouteType)) == 1 })
	if !r.Update("blue", []*Resource{text(ClusterType, "d", "1")}, []Ref{{RouteType, "r"}, {RouteType, "never"}}) {
		t.Error("no update")
	}
	eventually(t, "the change", func() bool { return len(c.has(ClusterType)) == 2 && len(c.has(RouteType)) == 0 })
	want := []string{"cluster +c", "route +r", "cluster +d", "route -r"}
	if got := c.received(); !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
	eventually(t, "all acknowledged in the status", func() bool {
		all := r.Clients()
		return len(all) == 1 && all[0].Key == "blue" && all[0].Identity == "blue" && all[0].NodeID == "node" && len(all[0].Types) == 2 &&
			all[0].Types[0].Resources == 2 && all[0].Types[0].Wildcard && all[0].Types[0].AckedVersion == all[0].Types[0].SentVersion
	})
}

func TestSilenceBeforeTheFirstPublish(t *testing.T) {
	r := start(t, byName, Options{})
	if r.Update("blue", []*Resource{text(ClusterType, "c", "1")}, nil) {
		t.Error("updated what was never published")
	}
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	c.subscribe(RouteType, "r")
	eventually(t, "connected", func() bool { return len(r.Clients()) == 1 && len(r.Clients()[0].Types) == 2 })
	if got := c.received(); len(got) != 0 {
		t.Errorf("received %q", got)
	}
	r.Publish("blue", snapshot(t))
	eventually(t, "the empty answers", func() bool { return slices.Equal(c.received(), []string{"cluster", "route -r"}) })
}

func TestRestartSendsNothingAgain(t *testing.T) {
	resources := []*Resource{text(ClusterType, "a", "1"), text(ClusterType, "b", "1"), text(EndpointType, "a", "1")}
	one, two := start(t, byName, Options{}), start(t, byName, Options{})
	one.Publish("blue", snapshot(t, resources...))
	two.Publish("blue", snapshot(t, resources...))
	c := one.connect(t, "blue")
	c.subscribe(ClusterType)
	c.subscribe(EndpointType, "a")
	eventually(t, "all", func() bool { return len(c.has(ClusterType)) == 2 && len(c.has(EndpointType)) == 1 })

	again := two.connect(t, "blue")
	again.ask(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: ClusterType, InitialResourceVersions: c.has(ClusterType), Node: &corev3.Node{Id: "node"},
	})
	again.ask(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: EndpointType, InitialResourceVersions: c.has(EndpointType), ResourceNamesSubscribe: []string{"a"},
	})
	again.subscribe(RouteType, "end") // answers come in order, so this one is the last
	eventually(t, "the answers", func() bool { return slices.Contains(again.received(), "route -end") })
	if got, want := again.received(), []string{"cluster", "route -end"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

func TestOnlyTheAuthorisedGetAnything(t *testing.T) {
	r := start(t, func(_ context.Context, p Peer, n *corev3.Node) (Grant, error) {
		switch {
		case n.GetId() == "starting":
			return Grant{}, status.Error(codes.Unavailable, "not yet")
		case n.GetId() == "nobody":
			return Grant{}, status.Error(codes.Unauthenticated, "who?")
		case n.GetId() != p.Chain[0].Subject.CommonName:
			return Grant{}, errors.New("the node is someone else's")
		}
		return Grant{Key: "blue", Identity: "blue"}, nil
	}, Options{})
	r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")))
	for id, want := range map[string]codes.Code{"red": codes.PermissionDenied, "starting": codes.Unavailable, "nobody": codes.Unauthenticated} {
		c := r.connect(t, "blue")
		c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: id}})
		if err := c.end(); status.Code(err) != want {
			t.Errorf("%s: %v, want %s", id, err, want)
		}
		if got := c.received(); len(got) != 0 {
			t.Errorf("%s received %q", id, got)
		}
	}
	stranger := newAuthority(t)
	c := r.connectWith(t, stranger.leaf(t, "blue", time.Hour))
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "blue"}})
	if err := c.end(); err == nil || len(c.received()) > 0 {
		t.Errorf("a foreign certificate: %v", err)
	}
}

func TestStreamsEnd(t *testing.T) {
	connected := func(t *testing.T, r *running, c *client) {
		c.subscribe(ClusterType)
		eventually(t, "connected", func() bool { return len(r.Clients()) == 1 && len(c.received()) > 0 })
	}
	t.Run("when the key is removed", func(t *testing.T) {
		r := start(t, byName, Options{})
		r.Publish("blue", snapshot(t))
		c := r.connect(t, "blue")
		connected(t, r, c)
		r.Remove("blue")
		if err := c.end(); status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
		eventually(t, "the key is forgotten", func() bool { return len(r.groups.all()) == 0 })
	})
	t.Run("when it is told to", func(t *testing.T) {
		r := start(t, byName, Options{})
		r.Publish("blue", snapshot(t))
		c := r.connect(t, "blue")
		connected(t, r, c)
		if n := r.Disconnect(func(c Client) bool { return c.Identity == "red" }); n != 0 {
			t.Errorf("%d streams of red", n)
		}
		if n := r.Disconnect(func(c Client) bool { return c.Identity == "blue" }); n != 1 {
			t.Errorf("%d streams of blue", n)
		}
		if err := c.end(); status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
	})
	t.Run("when the certificate expires", func(t *testing.T) {
		r := start(t, byName, Options{})
		r.Publish("blue", snapshot(t))
		c := r.connectWith(t, r.ca.leaf(t, "blue", 3*time.Second))
		connected(t, r, c)
		if err := c.end(); status.Code(err) != codes.Unauthenticated {
			t.Error(err)
		}
	})
	t.Run("when the node changes", func(t *testing.T) {
		r := start(t, byName, Options{})
		r.Publish("blue", snapshot(t))
		c := r.connect(t, "blue")
		connected(t, r, c)
		c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "red"}})
		if err := c.end(); status.Code(err) != codes.InvalidArgument {
			t.Error(err)
		}
	})
	t.Run("when nothing is asked", func(t *testing.T) {
		r := start(t, byName, Options{FirstRequestTimeout: 10 * time.Millisecond})
		if err := r.connect(t, "blue").end(); err == nil {
			t.Error("no error")
		}
	})
	t.Run("when the node is large", func(t *testing.T) {
		r := start(t, byName, Options{NodeSize: 100})
		c := r.connect(t, "blue")
		c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: strings.Repeat("x", 100)}})
		if err := c.end(); status.Code(err) != codes.InvalidArgument {
			t.Error(err)
		}
	})
	t.Run("when the protocol is the other one", func(t *testing.T) {
		r := start(t, byName, Options{})
		conn := r.dial(t, r.ca.leaf(t, "blue", time.Hour))
		s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "DELTA_GRPC") {
			t.Error(err)
		}
	})
}

func TestStreamsPerIdentity(t *testing.T) {
	r := start(t, byName, Options{StreamsPerIdentity: 2})
	r.Publish("blue", snapshot(t))
	var all []*client
	for range 2 {
		c := r.connect(t, "blue")
		c.subscribe(ClusterType)
		all = append(all, c)
	}
	eventually(t, "two", func() bool { return len(r.Clients()) == 2 })
	third := r.connect(t, "blue")
	third.subscribe(ClusterType)
	if err := third.end(); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
	all[0].conn.Close()
	eventually(t, "one", func() bool { return len(r.Clients()) == 1 })
	fourth := r.connect(t, "blue")
	fourth.subscribe(ClusterType)
	eventually(t, "two again", func() bool { return len(r.Clients()) == 2 })
}

func TestSlowClientIsCutAndOthersAreNot(t *testing.T) {
	reg := prometheus.NewRegistry()
	r := start(t, byName, Options{SendTimeout: 100 * time.Millisecond, Registerer: reg})
	r.Publish("blue", snapshot(t, text(ClusterType, "large", strings.Repeat("x", 8<<20))))
	good := r.connect(t, "blue")
	conn := r.dial(t, r.ca.leaf(t, "blue", time.Hour), grpc.WithInitialWindowSize(65535), grpc.WithInitialConnWindowSize(65535))
	slow, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// It subscribes to several, and never calls Recv: gRPC then stops reading at the window.
	for _, ty := range []string{ClusterType, ListenerType, RouteType} {
		if err := slow.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ty}); err != nil {
			t.Fatal(err)
		}
	}
	good.conn.Connect()
	eventually(t, "the slow one is cut", func() bool { return testutil.ToFloat64(r.metrics.ended.WithLabelValues("slow")) == 1 })
	eventually(t, "it is gone", func() bool { return len(r.Clients()) == 0 })
	r.Publish("blue", snapshot(t, text(ClusterType, "small", "1")))
	good.subscribe(ClusterType)
	eventually(t, "the other one is served", func() bool { return len(good.has(ClusterType)) == 1 })
}

type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) add(s string) { h.mu.Lock(); h.all = append(h.all, s); h.mu.Unlock() }
func (h *heard) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}
func (h *heard) Acked(key, typeURL, version string) { h.add("ack " + key + " " + label(typeURL)) }
func (h *heard) Rejected(key, typeURL string, names []string, message string) {
	h.add(fmt.Sprintf("nack %s %s %q: %s", key, label(typeURL), names, message))
}

func TestObserverHearsAnswers(t *testing.T) {
	h := &heard{}
	r := start(t, byName, Options{Observer: h})
	r.Publish("blue", snapshot(t, text(ClusterType, "bad", "1"), text(ListenerType, "l", "1")))
	c := r.connect(t, "blue")
	c.reject = func(resp *discoveryv3.DeltaDiscoveryResponse) string {
		if slices.ContainsFunc(resp.GetResources(), func(r *discoveryv3.Resource) bool { return r.GetName() == "bad" }) {
			return "cluster bad: no endpoints"
		}
		return ""
	}
	c.subscribe(ClusterType)
	c.subscribe(ListenerType)
	want := []string{`nack blue cluster ["bad"]: cluster bad: no endpoints`, "ack blue listener"}
	eventually(t, "both answers", func() bool { return slices.Equal(h.list(), want) })
	if n := r.Clients()[0].Types[0].LastNack; n == nil || n.Message != "cluster bad: no endpoints" {
		t.Errorf("status %+v", n)
	}
}

// Several clients of several keys, subscribing at random while other goroutines
// publish: in the end each has what is published for it.
func TestClientsConvergeOverTheNetwork(t *testing.T) {
	r := start(t, byName, Options{StreamsPerIdentity: 100})
	types := []string{ClusterType, EndpointType, ListenerType, RouteType}
	keys := []string{"blue", "red"}
	var clients []*client
	var wg sync.WaitGroup
	for i := range 6 {
		c := r.connect(t, keys[i%2])
		clients = append(clients, c)
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 2))
			for range 60 {
				req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: types[rng.IntN(4)]}
				for range rng.IntN(3) {
					req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, string(rune('a'+rng.IntN(8))))
				}
				if rng.IntN(3) == 0 {
					req.ResourceNamesUnsubscribe = append(req.ResourceNamesUnsubscribe, string(rune('a'+rng.IntN(8))))
				}
				c.ask(req)
			}
		})
	}
	for k, key := range keys {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 3))
			for range 100 {
				var all []*Resource
				for _, ty := range types {
					for n := range 8 {
						if rng.IntN(2) == 0 {
							all = append(all, text(ty, string(rune('a'+n)), fmt.Sprint(rng.IntN(3))))
						}
					}
				}
				s, err := NewSnapshot(all...)
				if err != nil {
					t.Error(err)
					return
				}
				r.Publish(key, s)
			}
		})
	}
	wg.Wait()
	for i, c := range clients {
		for _, ty := range types {
			eventually(t, fmt.Sprintf("client %d has what it wants of %s", i, label(ty)), func() bool {
				g := r.groups.get(keys[i%2])
				g.mu.Lock()
				c.mu.Lock()
				defer g.mu.Unlock()
				defer c.mu.Unlock()
				return maps.Equal(c.model.of(ty).wants(g.state[ty]), c.model.of(ty).has)
			})
		}
	}
}
