package xds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Server is the discovery server. It is safe for concurrent use.
type Server struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	authorize Authorizer
	opts      Options
	metrics   *metrics
	groups    groups
	visitors  visitors
	clock     func() time.Time
}

// NewServer makes a server that has nothing published yet.
func NewServer(authorize Authorizer, opts Options) *Server {
	opts.setDefaults()
	s := &Server{
		authorize: authorize, opts: opts, metrics: newMetrics(opts.Registerer),
		groups:   groups{byKey: map[string]*group{}},
		visitors: visitors{byIdentity: map[string]*visitor{}},
		clock:    time.Now,
	}
	s.visitors.opts = &s.opts
	return s
}

// What gRPC holds for each connection. Requests are small and rare, so memory
// counts for more than throughput.
const (
	// writeBuffer comes from a pool: a connection has one only while it writes. In bytes.
	writeBuffer = 16 << 10
	// window of flow control, in bytes. As it is fixed, gRPC does not measure the
	// connection with a ping for each request.
	window = 64 << 10
	// headers of a request, in bytes.
	headers = 16 << 10
	// idle is how long a connection may be open without a stream.
	idle = 5 * time.Minute
	// handshake is how long TLS may take.
	handshake = 20 * time.Second
)

// Serve accepts connections until the context ends, then closes them all; the
// clients keep what they have and come back to another server.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g := grpc.NewServer(
		grpc.Creds(newCredentials(s.opts.TLS, s.opts.Connections, s.metrics)),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(s.opts.RequestSize),
		grpc.MaxConcurrentStreams(uint32(s.opts.StreamsPerIdentity)),
		grpc.MaxHeaderListSize(headers),
		grpc.ConnectionTimeout(handshake),
		grpc.ReadBufferSize(0), // TLS has its own
		grpc.WriteBufferSize(writeBuffer),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(window),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idle, Time: 30 * time.Second, Timeout: 10 * time.Second}),
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
