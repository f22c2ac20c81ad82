package relay

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// discovery answers each request with a response of its type, and ends a stream that asks for "end" with a status.
type discovery struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	mutex sync.Mutex
	peers map[string]int // streams by the address of their connection
}

func (d *discovery) StreamAggregatedResources(
	s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer,
) error {
	from, _ := peer.FromContext(s.Context())
	d.mutex.Lock()
	d.peers[from.Addr.String()]++
	d.mutex.Unlock()
	for {
		request, err := s.Recv()
		switch {
		case err != nil:
			return err
		case request.TypeUrl == "end":
			return status.Error(codes.Unavailable, "the server ends")
		case request.TypeUrl == "limit":
			return status.Error(codes.ResourceExhausted, "too many streams")
		}
		if err := s.Send(&discoveryv3.DiscoveryResponse{TypeUrl: request.TypeUrl}); err != nil {
			return err
		}
	}
}

// TestStreamsShareConnection opens streams of the state of the world, as gRPC libraries do for each service that they
// call: they share a connection to the control plane. After the end of one that is about the connection, new streams
// use another one.
func TestStreamsShareConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, d := grpc.NewServer(), &discovery{peers: map[string]int{}}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, d)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	socket := filepath.Join(t.TempDir(), "xds.sock")
	down, err := Listen(t.Context(), socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r := New(func() (*grpc.ClientConn, error) {
		return grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	}, "pod", slog.New(slog.DiscardHandler))
	go func() { _ = r.Serve(t.Context(), down) }()
	application, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = application.Close() })
	open := func() (ask func(typeURL string) error) {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(application).StreamAggregatedResources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return func(typeURL string) error {
			if err := s.Send(&discoveryv3.DiscoveryRequest{TypeUrl: typeURL}); err != nil {
				return err
			}
			response, err := s.Recv()
			if err == nil && response.TypeUrl != typeURL {
				t.Errorf("got a response of type %q, want %q", response.TypeUrl, typeURL)
			}
			return err
		}
	}
	connections := func(want int) {
		t.Helper()
		d.mutex.Lock()
		defer d.mutex.Unlock()
		if len(d.peers) != want {
			t.Errorf("got streams by connection %v, want %d connections", d.peers, want)
		}
	}
	first, second := open(), open()
	for _, ask := range []func(string) error{first, second, open(), first} {
		if err := ask("a"); err != nil {
			t.Fatal(err)
		}
	}
	connections(1)
	if err := open()("limit"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got error %v, want that of the control plane", err)
	}
	if err := open()("a"); err != nil {
		t.Fatal(err)
	}
	connections(1)
	if err := second("end"); status.Code(err) != codes.Unavailable {
		t.Errorf("got error %v, want that of the control plane", err)
	}
	if err := open()("a"); err != nil {
		t.Fatal(err)
	}
	connections(2)
	if err := first("b"); err != nil {
		t.Errorf("the other streams go on: %v", err)
	}
}
