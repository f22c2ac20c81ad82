package cli

import (
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
)

func controllerCommand() *cobra.Command {
	var (
		config     controlplane.Config
		kubeconfig string
		meshConfig string
		dialects   string
		logLevel   string
		pullPolicy string
	)
	c := &cobra.Command{
		Use:   "controller",
		Short: "Run the control plane",
		Long: "Run the control plane: the discovery server and the signing endpoint for sidecars, the webhooks for the API server,\n" +
			"and the writer of statuses. It finds Kubernetes by --kubeconfig, or by the service account of the pod that it runs in.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(garbage)
			}
			if config.Log, err = logger(logLevel); err != nil {
				return exitError{2, err}
			}
			if n := config.StatusWritesPerSecond; n < 1 || n > clientQPS {
				return exitError{2, fmt.Errorf("--status-writes-per-second %d: choose 1 to %d, which is what all requests to the API server may be", n, clientQPS)}
			}
			libraries := logr.FromSlogHandler(config.Log.Handler())
			klog.SetLogger(libraries)
			ctrllog.SetLogger(libraries)
			if config.Mesh, err = controlplane.LoadMeshConfig(meshConfig); err != nil {
				return err
			}
			if config.Dialects.Values, err = controlplane.LoadDialectValues(dialects); err != nil {
				return err
			}
			if config.KubeConfig, err = restConfig(kubeconfig); err != nil {
				return err
			}
			if config.Name, err = os.Hostname(); err != nil {
				return fmt.Errorf("name of this replica: %w", err)
			}
			config.PullPolicy = corev1.PullPolicy(pullPolicy)
			return controlplane.Run(c.Context(), config)
		},
	}
	f := c.Flags()
	f.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; the pod's service account if empty")
	f.StringVar(&config.Namespace, "namespace", "anymesh-system", "namespace that the control plane runs in")
	f.StringVar(&meshConfig, "mesh-config", "/etc/anymesh/preset-mesh-config.json", "file with the mesh-wide configuration")
	f.StringVar(&config.TrustDomain, "trust-domain", "cluster.local", "trust domain of the identities that are issued")
	f.DurationVar(&config.CertificateLifetime, "certificate-lifetime", identity.DefaultLifetime, "lifetime of a sidecar's certificate")
	f.DurationVar(&config.RootLifetime, "root-lifetime", identity.RootLifetime, "lifetime of the mesh's root certificate, which is replaced in time; at least ten times that of certificates")
	f.StringVar(&dialects, "dialects", "", "file with the settings of the dialects, a JSON object for each by its name; defaults if empty")
	f.IntVar(&config.StatusWritesPerSecond, "status-writes-per-second", controlplane.StatusWritesPerSecond, "how many statuses the API server gets to write a second, at most")
	f.StringVar(&pullPolicy, "image-pull-policy", string(corev1.PullIfNotPresent), "pull policy of the containers that are added to pods")
	f.StringVar(&config.SigningAddress, "signing-address", ":15010", "address of the signing endpoint")
	f.StringVar(&config.WebhookAddress, "webhook-address", ":9443", "address of the webhooks")
	f.StringVar(&config.MetricsAddress, "metrics-address", ":9090", "address of metrics and health")
	f.StringVar(&config.DebugAddress, "debug-address", "127.0.0.1:9091", "address of the debug server; keep it on the loopback interface")
	f.StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

// garbage is how much of it there may be, in per cent of what lives on the heap. Most of that is the mesh, which stays: Go's own 100 would
// have the process hold a third more, and spare it a second's work at the start.
const garbage = 25
