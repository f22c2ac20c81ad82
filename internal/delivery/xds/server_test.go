package xds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		serveInProcess()
		return
	}
	// gRPC never stops the watcher of its credential files.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("google.golang.org/grpc/credentials/tls/certprovider/pemfile.(*watcher).run"))
}

func resourceEncoding(t *testing.T) {
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
	out := wire(t, &response{typeURL: ClusterType, nonce: "7", version: "v", changed: []*Resource{r},
		removed: []string{"x"}})
	if out.GetNonce() != "7" || out.GetSystemVersionInfo() != "v" ||
		!slices.Equal(out.GetRemovedResources(), []string{"x"}) {
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

func deltaADS(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	all := shared(t, text(ClusterType, "c", "1"), text(RouteType, "r", "1"))
	r.Publish("blue", sharing(t, all), time.Time{})
	r.Publish("red", snapshot(t, text(ClusterType, "other's", "1")), time.Time{})
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	c.subscribe(RouteType, "r")
	eventually(t, "both", func() bool { return len(c.has(ClusterType)) == 1 && len(c.has(RouteType)) == 1 })
	update := &Update{
		Changed: []*Resource{text(ClusterType, "d", "1")}, Removed: []Ref{{RouteType, "r"}, {RouteType, "never"}},
	}
	if r.Update(all, update, time.Time{}) != 1 {
		t.Error("no update")
	}
	eventually(t, "the change", func() bool { return len(c.has(ClusterType)) == 2 && len(c.has(RouteType)) == 0 })
	want := []string{"cluster +c", "route +r", "cluster +d", "route -r"}
	if got := c.received(); !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
	eventually(t, "all acknowledged in the status", func() bool {
		all := r.Clients()
		return len(all) == 1 && all[0].Key == "blue" && all[0].Identity == "blue" && all[0].NodeID == "node" &&
			len(all[0].Types) == 2 &&
			all[0].Types[0].Resources == 2 && all[0].Types[0].Wildcard &&
			all[0].Types[0].AckedVersion == all[0].Types[0].SentVersion
	})
}

func nothingSentBeforeFirstPublish(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	c.subscribe(RouteType, "r")
	eventually(t, "connected", func() bool { return len(r.Clients()) == 1 && len(r.Clients()[0].Types) == 2 })
	if got := c.received(); len(got) != 0 {
		t.Errorf("received %q", got)
	}
	r.Publish("blue", snapshot(t), time.Time{})
	eventually(t, "the empty answers", func() bool {
		return slices.Equal(c.received(),
			[]string{"cluster", "route -r"})
	})
}

func reconnectSendsOnlyDifferences(t *testing.T) {
	resources := []*Resource{text(ClusterType, "a", "1"), text(ClusterType, "b", "1"), text(EndpointType, "a", "1")}
	one, two := startServer(t, authorizeByCommonName, Options{}), startServer(t, authorizeByCommonName, Options{})
	one.Publish("blue", snapshot(t, resources...), time.Time{})
	two.Publish("blue", snapshot(t, resources...), time.Time{})
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
	again.subscribe(RouteType, "end") // responses come in order: this one is the last
	eventually(t, "the answers", func() bool { return slices.Contains(again.received(), "route -end") })
	if got, want := again.received(), []string{"cluster", "route -end"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

func TestUnauthorizedClientsReceiveNothing(t *testing.T) {
	r := startServer(t, func(_ context.Context, p Peer, n *corev3.Node) (Grant, error) {
		switch {
		case n.GetId() == "starting":
			return Grant{}, status.Error(codes.Unavailable, "not yet")
		case n.GetId() == "unauthenticated":
			return Grant{}, status.Error(codes.Unauthenticated, "who?")
		case n.GetId() != p.Chain[0].Subject.CommonName:
			return Grant{}, errors.New("the node belongs to another identity")
		}
		return Grant{Key: "blue", Identity: "blue"}, nil
	}, Options{})
	r.Publish("blue", snapshot(t, text(ClusterType, "c", "1")), time.Time{})
	for id, want := range map[string]codes.Code{"red": codes.PermissionDenied, "starting": codes.Unavailable,
		"unauthenticated": codes.Unauthenticated} {
		t.Run(want.String(), func(t *testing.T) {
			c := r.connect(t, "blue")
			c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: id}})
			if err := c.end(); status.Code(err) != want {
				t.Errorf("%v, want %s", err, want)
			}
			if got := c.received(); len(got) != 0 {
				t.Errorf("received %q", got)
			}
		})
	}
	t.Run("certificate of another CA", func(t *testing.T) {
		c := r.connectWith(t, newTestCA(t).leaf(t, "blue", time.Hour))
		c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "blue"}})
		if err := c.end(); err == nil || len(c.received()) > 0 {
			t.Errorf("received %q, error %v", c.received(), err)
		}
	})
}

type recordingObserver struct {
	mu      sync.Mutex
	all     []string
	publish func(key string) // nil: connects are not recorded
}

func (h *recordingObserver) add(s string) { h.mu.Lock(); h.all = append(h.all, s); h.mu.Unlock() }
func (h *recordingObserver) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// onConnect sets a function that publishes a key when its first client connects.
func (h *recordingObserver) onConnect(publish func(key string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.publish = publish
}

func (h *recordingObserver) Connected(key string) {
	h.mu.Lock()
	publish := h.publish
	h.mu.Unlock()
	if publish != nil {
		h.add("connected " + key)
		publish(key)
	}
}

func (h *recordingObserver) Acked(key, _, typeURL, version string, rejected map[string]string) {
	if len(rejected) > 0 {
		h.add(fmt.Sprintf("ack %s %s but %q", key, typeLabel(typeURL), slices.Sorted(maps.Keys(rejected))))
		return
	}
	h.add("ack " + key + " " + typeLabel(typeURL))
}
func (h *recordingObserver) Disconnected(key, identity string) { h.add("gone " + key + " " + identity) }
func (h *recordingObserver) Nacked(key, _, typeURL string, rejected map[string]string, message string) {
	h.add(fmt.Sprintf("nack %s %s %q: %s", key, typeLabel(typeURL), slices.Sorted(maps.Keys(rejected)), message))
}

func observerReceivesAcksAndNacks(t *testing.T) {
	h := &recordingObserver{}
	r := startServer(t, authorizeByCommonName, Options{Observer: h})
	r.Publish("blue", snapshot(t, text(ClusterType, "bad", "1"), text(ListenerType, "l", "1")), time.Time{})
	c := r.connect(t, "blue")
	c.reject = func(resp *discoveryv3.DeltaDiscoveryResponse) string {
		if slices.ContainsFunc(resp.GetResources(),
			func(r *discoveryv3.Resource) bool { return r.GetName() == "bad" }) {
			return "cluster bad: no endpoints"
		}
		return ""
	}
	c.subscribe(ClusterType)
	c.subscribe(ListenerType)
	want := []string{`nack blue cluster ["bad"]: cluster bad: no endpoints`, "ack blue listener"}
	eventually(t, "both answers", func() bool { return slices.Equal(h.list(), want) })
	nack := r.Clients()[0].Types[0].LastNack
	c.conn.Close()
	eventually(t, "its end", func() bool { return slices.Equal(h.list(), append(want, "gone blue blue")) })
	if n := nack; n == nil || n.Message != "cluster bad: no endpoints" {
		t.Errorf("status %+v", n)
	}
}
