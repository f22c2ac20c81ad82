package xds

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"time"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
	"anymesh.dev/anymesh/internal/delivery/socket"
)

// Server is the discovery server. It is safe for concurrent use.
type Server struct {
	authorize Authorizer
	opts      Options
	metrics   *metrics
	groups    groups
	visitors  visitors
	workers   *socket.WorkerPool
	clock     func() time.Time
}

// NewServer makes a server that has nothing published yet.
func NewServer(authorize Authorizer, opts Options) *Server {
	opts.setDefaults()
	s := &Server{
		authorize: authorize, opts: opts, metrics: newMetrics(opts.Registerer),
		groups:   groups{byKey: map[string]*group{}},
		visitors: visitors{byIdentity: map[string]*visitor{}},
		workers:  socket.NewWorkerPool(runtime.GOMAXPROCS(0)),
		clock:    time.Now,
	}
	s.visitors.opts = &s.opts
	return s
}

// discovery is the path of the Aggregated Discovery Service.
const discovery = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"

// Serve accepts connections until the context ends, then closes them all; the
// clients keep what they have and come back to another server.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	err := grpcserver.Serve(ctx, l, grpcserver.Options{
		TLS:     s.opts.TLS,
		Workers: s.workers,
		Methods: map[string]func(*grpcserver.Stream) grpcserver.Call{
			discovery + "DeltaAggregatedResources":  s.serve(false),
			discovery + "StreamAggregatedResources": s.serve(true),
		},
		Connections:     s.opts.Connections,
		Streams:         s.opts.StreamsPerIdentity,
		MessageSize:     s.opts.RequestSize,
		FramesPerSecond: s.opts.FramesPerSecond,
		FrameBurst:      s.opts.FrameBurst,
		Refused:         func(why grpcserver.Refusal) { s.metrics.refused.WithLabelValues(string(why)).Inc() },
	})
	if err != nil {
		return fmt.Errorf("discovery server: %w", err)
	}
	return nil
}
