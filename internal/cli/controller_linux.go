package cli

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"anymesh.dev/anymesh/internal/controlplane"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/memlimit"
	"anymesh.dev/anymesh/internal/pod/capture"
	"anymesh.dev/anymesh/internal/trait"
)

// controllerOptions are the flags of the control plane.
type controllerOptions struct {
	config     controlplane.Config
	kubeconfig string
	meshConfig string
	dialects   string
	routeTrait string
	logLevel   string
	pullPolicy string
	apiServers []string
}

func controllerCommand() *cobra.Command {
	var o controllerOptions
	c := &cobra.Command{
		Use:   "controller",
		Short: "Run the control plane",
		Long: "Run the control plane: the xDS server and the signing endpoint for sidecars, the webhooks for the API server, and the\n" +
			"status writer. It connects to Kubernetes with --kubeconfig, or with the service account of its pod.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; if empty, the service account of the pod")
	f.StringVar(&o.config.Namespace, "namespace", "anymesh-system", "namespace of the control plane")
	f.StringVar(&o.meshConfig, "mesh-config", "/etc/anymesh/preset-mesh-config.json",
		"file with the mesh-wide configuration")
	f.StringVar(&o.config.TrustDomain, "trust-domain", "cluster.local", "trust domain of workload identities")
	f.DurationVar(&o.config.CertificateLifetime, "certificate-lifetime", identity.DefaultLifetime,
		"lifetime of a sidecar's certificate")
	f.DurationVar(&o.config.RootLifetime, "root-lifetime", identity.RootLifetime, "lifetime of the root certificate, at least ten times --certificate-lifetime; the root is rotated before it expires")
	f.StringVar(&o.dialects, "dialects", "",
		"JSON file with the settings of each dialect, by dialect name; defaults if empty")
	f.StringVar(&o.routeTrait, "route-trait", "", "JSON file with the settings of the Route trait; defaults if empty")
	f.IntVar(&o.config.StatusWritesPerSecond, "status-writes-per-second", controlplane.StatusWritesPerSecond,
		"maximum number of status writes per second")
	f.StringVar(&o.pullPolicy, "image-pull-policy", string(corev1.PullIfNotPresent), "pull policy of injected containers")
	f.StringVar(&o.config.SigningAddress, "signing-address", ":15010", "address of the signing endpoint")
	f.StringVar(&o.config.NamesAddress, "names-address", ":15011",
		"address that serves host names to pods whose driver delivers configuration itself")
	f.StringVar(&o.config.WebhookAddress, "webhook-address", ":9443", "address of the webhooks")
	f.StringSliceVar(&o.apiServers, "api-server-addresses", nil, "IP addresses and CIDR ranges from which API servers call the webhooks, besides those of Service kubernetes")
	f.StringVar(&o.config.MetricsAddress, "metrics-address", ":9090", "address of metrics and health")
	f.StringVar(&o.config.DebugAddress, "debug-address", "127.0.0.1:9091",
		"address of the debug server; keep it on the loopback interface")
	f.DurationVar(&o.config.ShutdownDelay, "shutdown-delay", 0,
		"how long API servers get answers after SIGTERM, while /readyz fails")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

// run runs the control plane until the context ends.
func (o *controllerOptions) run(ctx context.Context) error {
	var err error
	if os.Getenv("GOGC") == "" {
		limitGarbage(ctx, &o.config)
	}
	if o.config.Log, err = logger(o.logLevel); err != nil {
		return exitError{2, err}
	}
	memlimit.Set(o.config.Log)
	if n := o.config.StatusWritesPerSecond; n < 1 || n > clientQPS {
		return exitError{2, fmt.Errorf("--status-writes-per-second %d: the value must be between 1 and %d, the limit of all requests to the API server", n, clientQPS)}
	}
	if o.config.CertificateLifetime <= 0 {
		return exitError{2, fmt.Errorf("--certificate-lifetime: certificate lifetime %s: it must be positive", o.config.CertificateLifetime)}
	}
	if o.config.APIServerRanges, err = controlplane.ParseRanges(o.apiServers); err != nil {
		return exitError{2, fmt.Errorf("--api-server-addresses: %w", err)}
	}
	libraries := logr.FromSlogHandler(o.config.Log.Handler())
	klog.SetLogger(libraries)
	ctrllog.SetLogger(logr.FromSlogHandler(controlplane.ThrottleErrors(o.config.Log.Handler())))
	if o.config.Mesh, err = controlplane.LoadMeshConfig(o.meshConfig, capture.HasIPv6); err != nil {
		return err
	}
	if o.config.Dialects.Values, err = controlplane.LoadDialectValues(o.dialects); err != nil {
		return err
	}
	if o.config.RouteTrait, err = trait.LoadSettings(o.routeTrait); err != nil {
		return err
	}
	if o.config.KubeConfig, err = restConfig(o.kubeconfig); err != nil {
		return err
	}
	if o.config.Name, err = os.Hostname(); err != nil {
		return fmt.Errorf("reading the hostname of this replica: %w", err)
	}
	o.config.PullPolicy = corev1.PullPolicy(o.pullPolicy)
	return controlplane.Run(ctx, o.config)
}

// limitGarbage limits the garbage of the start, and adapts the limit after it.
func limitGarbage(ctx context.Context, config *controlplane.Config) {
	debug.SetGCPercent(startGCPercent)
	config.OnSynced = func() { adaptGCPercent(ctx, func() { returnMemory(config.Log) }) }
}
