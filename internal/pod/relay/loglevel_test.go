package relay

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/sidecar"
)

// levelServer is a control plane that sends log levels, and notes what streams ask for.
type levelServer struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	requests chan *discoveryv3.DeltaDiscoveryRequest
	levels   chan string // also the versions
}

func (c *levelServer) DeltaAggregatedResources(
	s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	go func() {
		for {
			select {
			case <-s.Context().Done():
				return
			case level := <-c.levels:
				value, _ := anypb.New(wrapperspb.String(level))
				_ = s.Send(&discoveryv3.DeltaDiscoveryResponse{
					TypeUrl: sidecar.SettingType, Nonce: level,
					Resources: []*discoveryv3.Resource{{Name: sidecar.LogLevelSetting, Version: level, Resource: value}},
				})
			}
		}
	}()
	for {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		c.requests <- r
	}
}

// TestLogLevel checks that the relay subscribes to the log level after the first request of the proxy, that the proxy
// sees nothing of it, and that a proxy that was started again gets the level again, which is not sent again.
func TestLogLevel(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	c := &levelServer{requests: make(chan *discoveryv3.DeltaDiscoveryRequest, 10), levels: make(chan string)}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, c)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	r := New(func() (*grpc.ClientConn, error) {
		return grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	}, "p", slog.New(slog.DiscardHandler))
	set := make(chan string, 10)
	r.LogLevel = func(level string) { set <- level }
	socket := filepath.Join(t.TempDir(), "s")
	down, err := Listen(t.Context(), socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.Serve(t.Context(), down) }()
	proxy, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	start := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(proxy).DeltaAggregatedResources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "listener"}); err != nil {
			t.Fatal(err)
		}
		go func() {
			if m, err := s.Recv(); err == nil {
				t.Errorf("the proxy gets %v", m)
			}
		}()
		if first := <-c.requests; first.TypeUrl != "listener" {
			t.Fatalf("the first request is %v", first)
		}
		return cancel
	}
	acknowledged := func(level string) {
		t.Helper()
		c.levels <- level
		if got := <-set; got != level {
			t.Errorf("set %q, want %q", got, level)
		}
		if r := <-c.requests; r.TypeUrl != sidecar.SettingType || r.ResponseNonce != level || r.ErrorDetail != nil {
			t.Errorf("%s is answered by %v", level, r)
		}
	}
	stop := start()
	if r := <-c.requests; r.TypeUrl != sidecar.SettingType || len(r.ResourceNamesSubscribe) != 1 ||
		r.ResourceNamesSubscribe[0] != sidecar.LogLevelSetting || len(r.InitialResourceVersions) != 0 {
		t.Errorf("the relay asks for %v", r)
	}
	acknowledged("error")
	acknowledged("debug")
	stop()
	defer start()()
	if got := <-set; got != "debug" {
		t.Errorf("a proxy that was started again gets %q", got)
	}
	if r := <-c.requests; r.InitialResourceVersions[sidecar.LogLevelSetting] != "debug" {
		t.Errorf("the relay of a proxy that was started again asks for %v", r)
	}
	acknowledged("info")
}
