package delivery_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
)

// newClientFixture creates a fixture in which only workloads with connections have clients, and serves connections in
// memory until the test ends.
func newClientFixture(t *testing.T) (*fixture, *grpc.ClientConn) {
	t.Helper()
	f := newFixtureWith(t, xds.Options{MaxFramesPerSecond: 1e6, MaxFrameBurst: 1e6})
	f.publisher.connectedOnly = true
	l := &pipeListener{accepted: make(chan net.Conn), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.publisher.Serve(ctx, l) }()
	conn, err := grpc.NewClient("passthrough:pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(l.dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return f, conn
}

// pipeListener listens for connections in memory, which a synctest bubble can wait for.
type pipeListener struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (l *pipeListener) dial(ctx context.Context, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.accepted <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// deltaClient is a client with a stream. It keeps the versions of the clusters that it receives.
type deltaClient struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	close    context.CancelFunc
	versions map[string]string
}

// open opens a stream that subscribes to all clusters, with the versions that the client has.
func open(t *testing.T, conn *grpc.ClientConn, workload model.Key, pod string,
	versions map[string]string) *deltaClient {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: workload.String(), Cluster: pod}, TypeUrl: clusters, InitialResourceVersions: versions,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &deltaClient{stream, cancel, map[string]string{}}
	maps.Copy(c.versions, versions)
	return c
}

// next receives and acknowledges a response, and returns the names of its resources.
func (c *deltaClient) next(t *testing.T) string {
	t.Helper()
	r := receive(t, c)
	var names []string
	for _, one := range r.GetResources() {
		c.versions[one.GetName()] = one.GetVersion()
		names = append(names, "+"+one.GetName())
	}
	for _, name := range r.GetRemovedResources() {
		delete(c.versions, name)
		names = append(names, "-"+name)
	}
	ack := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}
	if err := c.Send(ack); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// leave closes the last stream of a workload, and waits until the server has noticed.
func (f *fixture) leave(t *testing.T, c *deltaClient, workload model.Key) {
	t.Helper()
	c.close()
	eventually(t, "the stream is closed", func() bool { return !f.publisher.HasClients(workload.String()) })
}

// workloadOf is the key of a client in shiftObjects.
func workloadOf(client int) model.Key {
	return model.Key{Mesh: "m", Name: fmt.Sprintf("c%04d_a", client)}
}

// shopAt is the shop with another host name of back.
func shopAt(host string) string { return strings.Replace(shop, "back.example", host, 1) }

// The resources of a workload are rendered when its first client connects, and not again for the second.
func TestFirstClientIsRendered(t *testing.T) {
	f, conn := newClientFixture(t)
	f.applyYAML(t, shop)
	f.applyYAML(t, shopAt("elsewhere.example"))
	if got := f.publisher.takeCalls(); len(got) != 0 || f.version() != "" || f.rendered(t)["destination"] != 0 {
		t.Errorf("without clients: got calls %q, version %q, renderings %v", got, f.version(), f.rendered(t))
	}
	first := open(t, conn, front, "p1", nil)
	if got := first.next(t); !strings.Contains(got, "+"+toBack) || first.versions[toBack] != f.version() {
		t.Errorf("the first client received %q", got)
	}
	rendered := f.rendered(t)
	second := open(t, conn, front, "p2", nil)
	second.next(t)
	if !maps.Equal(first.versions, second.versions) {
		t.Errorf("the clients received %v and %v", first.versions, second.versions)
	}
	f.Connected(front.String()) // as if both had connected at once
	if got := f.publisher.takeCalls(); !slices.Equal(got, []string{"publish m/front_a"}) {
		t.Errorf("got calls %q", got)
	}
	if got := f.rendered(t); !maps.Equal(got, rendered) || got["destination"] != 1 {
		t.Errorf("got renderings %v, with one client %v", got, rendered)
	}
	f.applyYAML(t, shopAt("moved.example"))
	for _, c := range []*deltaClient{first, second} {
		if got := c.next(t); got != "+"+toBack || c.versions[toBack] != f.version() {
			t.Errorf("a change: received %q", got)
		}
	}
	if got := f.publisher.takeCalls(); !slices.Equal(got, []string{"update m/front_a +" + toBack}) {
		t.Errorf("a change: got calls %q", got)
	}
}

// A client can connect before its workload exists.
func TestClientOfLaterWorkload(t *testing.T) {
	f, conn := newClientFixture(t)
	c := open(t, conn, front, "p1", nil)
	eventually(t, "connected", func() bool { return f.publisher.HasClients(front.String()) })
	f.applyYAML(t, shop)
	if got := c.next(t); !strings.Contains(got, "+"+toBack) {
		t.Errorf("received %q", got)
	}
	if got := f.publisher.takeCalls(); !slices.Equal(got, []string{"publish m/front_a"}) {
		t.Errorf("got calls %q", got)
	}
}

// A workload that is deleted and created again is rendered for its client when that returns.
func TestClientOfRecreatedWorkload(t *testing.T) {
	f, conn := newClientFixture(t)
	f.applyYAML(t, shop)
	c := open(t, conn, front, "p1", nil)
	c.next(t)
	f.applyYAML(t, strings.Split(shop, "\n---\n")[0])
	if _, err := c.Recv(); err == nil {
		t.Error("the stream is still open")
	}
	f.applyYAML(t, shop)
	again := open(t, conn, front, "p1", c.versions)
	if got := again.next(t); got != "" || f.version() != c.versions[toBack] {
		t.Errorf("received %q, want no resource: the client has all", got)
	}
}
