package xds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// Grant is what an authorised client may have.
type Grant struct {
	// Key of the workload whose configuration it gets.
	Key string
	// Identity names the client in status and limits, for example its pod.
	Identity string
}

// Authorizer decides on the first request of a stream. The peer's certificate
// is the only proof of who asks; the node is what the client says about itself
// (it may be nil) and can only narrow. An error with a gRPC status is passed
// on, any other becomes PermissionDenied; nothing else is sent to the client.
type Authorizer func(ctx context.Context, peer Peer, node *corev3.Node) (Grant, error)

// Server is the discovery server. It is safe for concurrent use.
type Server struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	authorize Authorizer
	opts      Options
	metrics   *metrics
	groups    groups

	mu      sync.Mutex
	streams map[string]int // open, by identity
}

// NewServer makes a server that has nothing published yet.
func NewServer(authorize Authorizer, opts Options) *Server {
	opts.setDefaults()
	return &Server{
		authorize: authorize, opts: opts, metrics: newMetrics(opts.Registerer),
		groups:  groups{byKey: map[string]*group{}},
		streams: map[string]int{},
	}
}

// Buffers of a connection, in bytes. Requests are small and rare, so memory for
// each client counts for more than system calls.
const readBuffer = 4 << 10

// Serve accepts connections until the context ends, then closes them all; the
// clients keep what they have and come back to another server.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g := grpc.NewServer(
		grpc.Creds(serverCredentials(s.opts.TLS)),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(s.opts.RequestSize),
		grpc.MaxConcurrentStreams(uint32(s.opts.StreamsPerIdentity)),
		grpc.ConnectionTimeout(20*time.Second),
		grpc.ReadBufferSize(readBuffer),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, s)
	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()
	err := g.Serve(l)
	if ctx.Err() != nil && (err == nil || errors.Is(err, grpc.ErrServerStopped)) {
		return nil
	}
	return fmt.Errorf("discovery server on %s: %w", l.Addr(), err)
}

// StreamAggregatedResources answers Unimplemented.
func (s *Server) StreamAggregatedResources(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, "only incremental discovery is served: use DeltaAggregatedResources (api_type DELTA_GRPC)")
}

// reserve counts a stream of an identity, unless it has too many.
func (s *Server) reserve(identity string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[identity] >= s.opts.StreamsPerIdentity {
		return false
	}
	s.streams[identity]++
	return true
}

func (s *Server) release(identity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[identity]--; s.streams[identity] == 0 {
		delete(s.streams, identity)
	}
}
