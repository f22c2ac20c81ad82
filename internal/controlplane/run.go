package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/objects/finalizers"
	"anymesh.dev/anymesh/internal/objects/kept"
	"anymesh.dev/anymesh/internal/objects/status"
	"anymesh.dev/anymesh/internal/trait/controller"
)

// controlPlane is a running control plane.
type controlPlane struct {
	Config
	kube     clients
	cache    cache.Cache
	client   client.Client // reads from the API server, not from the cache, and writes
	registry *prometheus.Registry

	// clientLog is for problems that clients cause.
	clientLog       *slog.Logger
	connections     connections
	apiServers      *apiServers
	admission       admissionCache
	ca              authority
	caStore         *identity.CAStore
	serving         *identity.ServingCertificate
	dialects        []dialect.Dialect
	engine          *engine.Engine
	drivers         []*driver
	names           *driver // serves host names only; nil if the xDS servers of drivers serve all of them
	writer          *status.Writer
	traces          *sdktrace.TracerProvider
	finalizers      *finalizers.Reconciler
	keeper          *kept.Keeper
	routes          *controller.Controller // nil if the Route trait is disabled
	routeCA         *identity.CAStore      // the authority of Routes; nil as well
	debug           map[string]http.Handler
	podWatchTimeout time.Duration

	shutdown  chan struct{} // closed when the context of Run ends
	progress  progress
	assembled atomic.Bool // all fields above are set
}

// Run runs a control plane until the context ends, and Config.ShutdownDelay longer. An error names the component that
// failed. An unreachable API server is not an error: Run waits for it.
func Run(ctx context.Context, config Config) error {
	cp, err := prepare(config)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil // shutdown before the start
	}
	return cp.runAll(ctx)
}

// runAll serves health probes immediately, and starts the other components when the API server responds.
func (cp *controlPlane) runAll(ctx context.Context) error {
	ctx, stop := cp.delayShutdown(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return cp.serveMetrics(ctx) })
	group.Go(func() error {
		err := cp.build(ctx)
		if err == nil {
			err = cp.run(ctx)
		}
		if ctx.Err() != nil {
			return nil // shutdown
		}
		return err
	})
	return group.Wait()
}

// prepare creates the parts that need no API server. It returns an error for each setting that cannot be used.
func prepare(config Config) (*controlPlane, error) {
	cp := &controlPlane{
		Config: config, registry: prometheus.NewRegistry(), debug: map[string]http.Handler{},
		podWatchTimeout: defaultPodWatchTimeout, shutdown: make(chan struct{}),
		clientLog: slog.New(ThrottleErrors(config.Log.Handler())),
	}
	cp.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	scheme, err := dialect.Scheme()
	if err != nil {
		return nil, err
	}
	settings := config.Dialects
	settings.TrustDomain, settings.SidecarClasses = config.TrustDomain, cp.Mesh.Classes()
	if cp.dialects, err = dialect.Configured(settings); err != nil {
		return nil, err
	}
	if err := config.caStoreOptions(nil).Validate(); err != nil {
		return nil, err
	}
	if cp.drivers, err = newDrivers(cp.Mesh, cp.Log, func() { cp.writer.Wake() }); err != nil {
		return nil, err
	}
	if err := config.checkPorts(cp.drivers); err != nil {
		return nil, err
	}
	cp.connections = newConnections(descriptorLimits(len(cp.drivers), cp.Log), cp.registry)
	cp.apiServers = &apiServers{ranges: config.APIServerRanges, node: cp.connections.node}
	cp.KubeConfig = dialDirectly(config.KubeConfig)
	if cp.kube, err = newClients(cp.KubeConfig); err != nil {
		return nil, err
	}
	if cp.client, err = client.New(cp.KubeConfig, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("Kubernetes client: %w", err)
	}
	return cp, nil
}

// build creates the parts that need the API server, and retries until it responds.
func (cp *controlPlane) build(ctx context.Context) error {
	err := cp.progress.retry(ctx, cp.Log, "its kinds", func(context.Context) (err error) {
		cp.cache, err = cache.New(withAPIServerRetry(cp.KubeConfig, cp.reportAPIServer), cache.Options{
			Scheme: cp.client.Scheme(),
			Mapper: cp.client.RESTMapper(),
			// Readers do not change objects. A VirtualNode with a thousand backends has 80 kB.
			DefaultUnsafeDisableDeepCopy: new(true),

			NewInformer:              newInformer,
			DefaultTransform:         trimMetadata,
			ByObject:                 cacheTransforms(cp.dialects),
			DefaultWatchErrorHandler: cp.progress.watchFailed,
		})
		return err
	})
	if err != nil {
		return err
	}
	recorder := cp.recorder(ctx)
	err = cp.progress.retry(ctx, cp.Log, "the certificate authority", func(ctx context.Context) (err error) {
		metrics := prometheus.NewRegistry() // of this attempt
		options := cp.caStoreOptions(metrics)
		options.Recorder, options.Plan = recorder, cp.rootPlan
		options.Trust, options.Replica = cp.trustIn, cp.Name
		options.Read = func() { cp.publishAuthority(); cp.writer.Wake() }
		if cp.caStore, err = identity.OpenCAStore(ctx, cp.kube.core, options); err != nil {
			return classifyError(err)
		}
		return cp.registry.Register(metrics)
	})
	if err != nil {
		return err
	}
	cp.ca = cp.caStore
	if cp.serving, err = identity.NewServingCertificate(cp.ca, cp.serviceNames(), cp.CertificateLifetime); err != nil {
		return fmt.Errorf("serving certificate: %w", err)
	}
	cp.registerServingExpiry()
	if cp.traces, err = newTracer(ctx, cp.Name, cp.Log); err != nil {
		return err
	}
	if err := cp.assemble(ctx, recorder); err != nil {
		return err
	}
	cp.assembled.Store(true)
	return nil
}

// assemble creates the engine and its sinks.
func (cp *controlPlane) assemble(ctx context.Context, recorder events.EventRecorder) error {
	deliverers := cp.deliverers()
	cp.finalizers = finalizers.New(finalizers.Options{
		Dialects: dialect.Implementing[dialect.Finalizers](cp.dialects), Client: cp.client, Recorder: recorder,
		FindingsChanged: func() { cp.writer.Wake() }, Log: cp.Log, Registerer: cp.registry,
	})
	if err := cp.newRoutes(ctx, recorder); err != nil {
		return err
	}
	settings, err := engine.SettingsOf(cp.Mesh)
	if err != nil {
		return err
	}
	cp.engine = engine.New(cp.Log, cp.dialects, settings, deliverers.Deliver, cp.finalizers.Changed)
	cp.admission = newAdmissionCache(cp.engine, cp.dialects, cp.registry)
	cp.writer, err = status.New(status.Options{
		Dialects: dialect.Implementing[dialect.Statuses](cp.dialects), Gates: readinessGates(cp.dialects), Cache: cp.cache,
		Client: cp.client, Recorder: recorder,
		Mesh: cp.engine, Delivered: cp.runtimeFindings, WritesPerSecond: cp.StatusWritesPerSecond, Log: cp.Log,
		Registerer: cp.registry,
	})
	if err != nil {
		return fmt.Errorf("statuses: %w", err)
	}
	cp.keeper = kept.New(kept.Options{
		Dialects: dialect.Implementing[dialect.Keeping](cp.dialects), Namespace: cp.Namespace,
		Objects: cp.engine.ObjectsOf, Client: cp.client, Log: cp.Log, Registerer: cp.registry,
	})
	cp.engine.AddSink(cp.keeper.Changed)
	cp.engine.AddSink(cp.writer.Changed)
	cp.engine.AddSink(cp.rootsChanged)
	cp.engine.Register(cp.registry)
	cp.engine.AddSink(traceChanges(cp.traces.Tracer("anymesh.dev/anymesh/internal/controlplane")))
	for _, d := range cp.drivers {
		if err := cp.startDriver(ctx, d); err != nil {
			return err
		}
	}
	cp.newNames()
	cp.publishAuthority()
	return nil
}

// run runs all components. The xDS servers start after the first sync: a partial mesh is worse than the configuration
// that sidecars already have.
func (cp *controlPlane) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return cp.cache.Start(ctx) })
	group.Go(func() error { return cp.serveDebug(ctx) })
	group.Go(func() error { return cp.serveSigning(ctx) })
	group.Go(func() error { return cp.serveWebhooks(ctx) })
	group.Go(func() error { cp.apiServers.run(ctx, cp.kube.core); return nil })
	group.Go(func() error {
		if err := cp.watch(ctx); err != nil {
			return err
		}
		return cp.engine.Run(ctx)
	})
	group.Go(func() error {
		if err := cp.engine.Await(ctx, func() bool { return true }); err != nil {
			return nil // shutdown
		}
		if cp.OnSynced != nil {
			cp.OnSynced()
		}
		ctx, stop := cp.untilShutdown(ctx)
		defer stop()
		servers, ctx := errgroup.WithContext(ctx)
		for _, d := range cp.drivers {
			if d.xds != nil {
				servers.Go(func() error { return cp.serveXDS(ctx, d, fmt.Sprintf(":%d", d.port())) })
			}
		}
		if cp.names != nil {
			servers.Go(func() error { return cp.serveXDS(ctx, cp.names, cp.NamesAddress) })
		}
		return servers.Wait()
	})
	group.Go(func() error {
		ctx, stop := cp.untilShutdown(ctx)
		defer stop()
		return newElection(cp.kube.core, cp.Namespace, cp.Name, cp.Log, cp.registry).run(ctx, cp.runLeader)
	})
	group.Go(func() error { return cp.runWebhookCA(ctx) })
	group.Go(func() error { return cp.caStore.Run(ctx) })
	if cp.routeCA != nil {
		group.Go(func() error { return cp.routeCA.Run(ctx) })
	}
	err := group.Wait()
	cp.flushTraces(ctx)
	return err
}
