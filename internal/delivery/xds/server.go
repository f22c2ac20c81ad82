package xds

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
	"anymesh.dev/anymesh/internal/delivery/socket"
)

// Server is the xDS server. It is safe for concurrent use.
type Server struct {
	authorize    Authorizer
	opts         Options
	metrics      *metrics
	groups       groups
	clientLimits clientLimits
	identities   identityIndex
	workers      *socket.WorkerPool
	clock        func() time.Time
	unfinished   atomic.Int64 // bytes of unfinished requests
	// publishing serializes changes of published resources. It is acquired before the locks of groups.
	publishing sync.Mutex
}

// NewServer creates a server without published resources.
func NewServer(authorize Authorizer, opts Options) *Server {
	opts.setDefaults()
	s := &Server{
		authorize: authorize, opts: opts, metrics: newMetrics(opts.Registerer),
		groups:       groups{byKey: map[string]*group{}},
		clientLimits: clientLimits{byIdentity: map[string]*clientUsage{}},
		identities:   identityIndex{streams: map[string][]*stream{}},
		workers:      socket.NewWorkerPool(runtime.GOMAXPROCS(0)),
		clock:        time.Now,
	}
	s.clientLimits.opts = &s.opts
	registerSizes(opts.Registerer, &s.clientLimits.subscriptions, &s.unfinished)
	return s
}

// adsService is the name of the Aggregated Discovery Service.
const adsService = "envoy.service.discovery.v3.AggregatedDiscoveryService"

// Serve accepts connections until the context ends. Then it sends GOAWAY on all of them, closes their streams within
// DrainTime, and returns. The clients keep their configuration and reconnect to another server. Besides ADS, it serves
// the gRPC health service to clients with a valid certificate.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	err := grpcserver.Serve(ctx, l, grpcserver.Options{
		TLS:     s.opts.TLS,
		Workers: s.workers,
		Methods: map[string]func(*grpcserver.Stream) grpcserver.StreamHandler{
			"/" + adsService + "/DeltaAggregatedResources":  s.callHandler(false),
			"/" + adsService + "/StreamAggregatedResources": s.callHandler(true),
		},
		HealthServices:          []string{adsService},
		MaxConnectionAge:        s.opts.MaxConnectionAge,
		DrainTime:               s.opts.DrainTime,
		MaxConnections:          s.opts.MaxConnections,
		MaxConnectionsPerClient: s.opts.MaxConnectionsPerCertificate,
		MaxHandshakes:           s.opts.MaxHandshakes,
		MaxHandshakesPerSource:  s.opts.MaxHandshakesPerSource,
		MaxUnfinishedPerClient:  s.opts.MaxUnfinishedPerCertificate,
		MaxUnfinished:           s.opts.MaxUnfinished,
		UnfinishedBytes:         &s.unfinished,
		MaxConcurrentStreams:    s.opts.MaxStreamsPerIdentity,
		MaxRecvMsgSize:          s.opts.MaxRequestSize,
		MaxFramesPerSecond:      s.opts.MaxFramesPerSecond,
		MaxFrameBurst:           s.opts.MaxFrameBurst,
		OnRefused: func(why grpcserver.RefusalReason) {
			s.metrics.refused.WithLabelValues(string(why)).Inc()
		},
	})
	if err != nil {
		return fmt.Errorf("discovery server: %w", err)
	}
	return nil
}
