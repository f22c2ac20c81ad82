package aggregate

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/fleet"
)

// Config is the configuration of a server.
type Config struct {
	// ControlPlane is the API server that has Clusters and registries.
	ControlPlane *rest.Config
	// Certificate returns the serving certificate.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Service is the Service of the server in the control plane; nil if it has none.
	Service *Service
	// Plaintext accepts connections without TLS, whose requests have bearer tokens; none if nil.
	Plaintext net.Listener
	// ClientCAFile has the CAs of client certificates; those of the control plane if empty.
	ClientCAFile string
	// AuthorizeClusters requires the verb access on the Cluster of each object.
	AuthorizeClusters bool
	// ProbeInterval is the time between probes of the clusters.
	ProbeInterval time.Duration
	// Grace is how long objects of an unreachable cluster are kept; forever if 0.
	Grace time.Duration
	// StartGrace is how long lists wait for a cluster that existed when this server started, and that it did not reach.
	StartGrace time.Duration
	// ShutdownDelay is how long requests are served, while /readyz fails, after the context of Run ends.
	ShutdownDelay time.Duration
	// IntegerVersions makes resource versions integers of this server, which no other replica accepts.
	IntegerVersions bool
	Log             *slog.Logger
	// Registerer registers the metrics of the server and its cache; none if nil.
	Registerer prometheus.Registerer
}

// Server answers Kubernetes requests over all member clusters.
type Server struct {
	config        Config
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
	// forget makes the authorizer ask the control plane again for all that it knows.
	forget       func()
	kube         client.Client
	controlPlane *fleet.Endpoint
	fleet        *fleet.Fleet
	cache        *cache.Cache
	tables       tables
	inFlight     inFlight
	// authentications limits requests with bearer tokens until they are authenticated.
	authentications *connlimit.Limiter
	metrics         *metrics
	// readTimeout and writeTimeout are ReadTimeout and WriteTimeout, except in tests.
	readTimeout, writeTimeout time.Duration
	// watches are those of the cache, and passed those of the control plane.
	watches, passed openWatches
	view            atomic.Pointer[view]
	refreshed       atomic.Bool
	// wasReady is set when the server was ready for the first time.
	wasReady atomic.Bool
	// stopping is set when the server is asked to end.
	stopping atomic.Bool
	// known are the kinds that any cluster offered. Only refresh uses it.
	known kindLists
	// changed has an element if a registry may have changed.
	changed chan struct{}
}

// newScheme has the kinds that the server reads and writes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, searchv1.AddStorageToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// New connects to the control plane, and installs the CustomResourceDefinitions that it lacks.
func New(ctx context.Context, config Config) (*Server, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	counters := newMetrics()
	s := &Server{
		config: config, metrics: counters, changed: make(chan struct{}, 1),
		readTimeout: ReadTimeout, writeTimeout: WriteTimeout,
		cache: cache.New(cache.Options{
			Grace: config.Grace, JoinGrace: config.StartGrace, Integers: config.IntegerVersions,
		}),
		inFlight:        newInFlight(MaxRequests, MaxStreams, counters),
		authentications: newAuthentications(MaxAuthenticationsPerSource, MaxAuthentications, counters),
	}
	s.view.Store(&view{})
	if config.Registerer != nil {
		for _, c := range append(counters.collectors(), s.cache.Collector()) {
			if err := config.Registerer.Register(c); err != nil {
				return nil, fmt.Errorf("metrics of the aggregator: %w", err)
			}
		}
	}
	bounded := rest.CopyConfig(config.ControlPlane)
	bounded.Timeout = 30 * time.Second
	kube, err := kubernetes.NewForConfig(bounded)
	if err != nil {
		return nil, fmt.Errorf("connection to the control plane: %w", err)
	}
	owned, err := installCRDs(ctx, bounded, scheme)
	if err != nil {
		return nil, err
	}
	if s.kube, err = client.New(bounded, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("connection to the control plane: %w", err)
	}
	if s.controlPlane, err = fleet.NewEndpoint(config.ControlPlane); err != nil {
		return nil, err
	}
	s.fleet = &fleet.Fleet{Kube: s.kube, OwnsStatus: owned, Log: config.Log}
	// Reviews of tokens, which everybody can send, take no requests from others.
	reviews, err := kubernetes.NewForConfig(bounded)
	if err != nil {
		return nil, fmt.Errorf("connection to the control plane: %w", err)
	}
	if s.authenticator, err = newAuthenticator(ctx, reviews, config.ClientCAFile); err != nil {
		return nil, err
	}
	roles, err := newAuthorizer(kube)
	if err != nil {
		return nil, err
	}
	s.authorizer, s.forget = roles, roles.forget
	return s, nil
}
