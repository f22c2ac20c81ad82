package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"anymesh.dev/anymesh/internal/aggregate"
	"anymesh.dev/anymesh/internal/memlimit"
)

// aggregatorFlags are the flags of the verb aggregator that are not settings of the server.
type aggregatorFlags struct {
	kubeconfig, address, plaintextAddress, metricsAddress, debugAddress string
	service, certFile, keyFile, writeKubeconfig, logLevel               string
}

func aggregatorCommand() *cobra.Command {
	var f aggregatorFlags
	var config aggregate.Config
	c := &cobra.Command{
		Use:   "aggregator",
		Short: "Serve the objects of all member clusters as one Kubernetes API",
		Long: "Serve the objects of all member clusters as one Kubernetes API. It reads Clusters and ResourceRegistries from the\n" +
			"control plane of --kubeconfig, and accepts its client certificates and bearer tokens.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			server, listener, err := f.prepare(c.Context(), &config)
			switch {
			case c.Context().Err() != nil:
				return nil // shutdown during the start
			case err != nil:
				return err
			}
			return server.Run(c.Context(), listener)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the control plane; if empty, the service account of the pod")
	flags.StringVar(&f.address, "address", "127.0.0.1:6444", "address of the Kubernetes API")
	flags.StringVar(&f.plaintextAddress, "plaintext-address", "",
		"loopback address of the Kubernetes API without TLS, for bearer tokens; none if empty")
	flags.StringVar(&f.debugAddress, "debug-address", "", "loopback address of /debug/pprof; none if empty")
	flags.StringVar(&f.metricsAddress, "metrics-address", "127.0.0.1:6445", "address of /metrics; none if empty")
	flags.StringVar(&f.service, "service", "",
		"Service of the aggregator in the control plane, as NAMESPACE/NAME: its serving certificate is of a CA in the Secret NAME-ca, which the APIService trusts")
	flags.StringVar(&f.certFile, "tls-cert-file", "", "serving certificate; a self-signed one if empty")
	flags.StringVar(&f.keyFile, "tls-private-key-file", "", "private key of the serving certificate")
	flags.StringVar(&config.ClientCAFile, "client-ca-file", "", "CAs of client certificates; those of the control plane if empty")
	flags.StringVar(&f.writeKubeconfig, "write-kubeconfig", "",
		"file to which a kubeconfig for the aggregator is written, with the user of --kubeconfig")
	flags.BoolVar(&config.AuthorizeClusters, "authorize-clusters", false,
		"require the verb access on clusters.cluster.karmada.io for objects of a cluster")
	flags.DurationVar(&config.ProbeInterval, "probe-interval", 10*time.Second, "time between probes of a cluster")
	flags.DurationVar(&config.Grace, "grace", 0, "how long objects of an unreachable cluster are kept; 0 for no limit")
	flags.DurationVar(&config.StartGrace, "start-grace", 5*time.Minute,
		"how long lists wait, with status 503, for a cluster that existed at the start and was not reached since, at most "+
			"--grace; 0 to omit its objects at once")
	flags.DurationVar(&config.ShutdownDelay, "shutdown-delay", 0,
		"how long requests are served after SIGTERM, while /readyz fails; then watches end")
	flags.BoolVar(&config.IntegerVersions, "integer-resource-versions", false,
		"make resource versions integers, which can be compared, but are valid for one replica until its restart")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

// prepare returns a server and the listener of its API.
func (f *aggregatorFlags) prepare(ctx context.Context, config *aggregate.Config) (
	server *aggregate.Server, listener net.Listener, err error,
) {
	if config.Log, err = logger(f.logLevel); err != nil {
		return nil, nil, exitError{2, err}
	}
	memlimit.Set(config.Log)
	if (f.certFile == "") != (f.keyFile == "") {
		return nil, nil, exitError{2, errors.New("--tls-cert-file and --tls-private-key-file: set both or none")}
	}
	if f.service != "" && f.certFile != "" {
		return nil, nil, exitError{2, errors.New("--service and --tls-cert-file: set one of them")}
	}
	if config.Grace > 0 {
		config.StartGrace = min(config.StartGrace, config.Grace)
	}
	if config.IntegerVersions && config.AuthorizeClusters {
		return nil, nil, exitError{2, errors.New("--integer-resource-versions and --authorize-clusters: set one of them, because " +
			"an integer does not say which clusters it is of")}
	}
	klog.SetLogger(logr.FromSlogHandler(config.Log.Handler()))
	if config.ControlPlane, err = restConfig(f.kubeconfig); err != nil {
		return nil, nil, err
	}
	listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", f.address)
	if err != nil {
		return nil, nil, fmt.Errorf("--address: %w", err)
	}
	if f.plaintextAddress != "" {
		if config.Plaintext, err = listenLoopback(ctx, f.plaintextAddress); err != nil {
			return nil, nil, exitError{2, fmt.Errorf("--plaintext-address: %w", err)}
		}
	}
	ca, err := f.certificate(ctx, config, listener.Addr())
	if err != nil {
		return nil, nil, err
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsGC)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	config.Registerer = metrics
	server, err = aggregate.New(ctx, *config)
	if err != nil {
		return nil, nil, err
	}
	if err := serveMetrics(ctx, f.metricsAddress, metrics); err != nil {
		return nil, nil, fmt.Errorf("--metrics-address: %w", err)
	}
	if err := serveProfiles(ctx, f.debugAddress); err != nil {
		return nil, nil, fmt.Errorf("--debug-address: %w", err)
	}
	if f.writeKubeconfig != "" {
		if err := f.writeAccess(config.ControlPlane, listener.Addr(), ca); err != nil {
			return nil, nil, err
		}
	}
	config.Log.Info("the aggregator serves", "address", listener.Addr().String())
	return server, listener, nil
}

// serveMetrics serves /metrics until the context ends.
func serveMetrics(ctx context.Context, address string, metrics prometheus.Gatherer) error {
	if address == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // it returns when it is closed
	return nil
}

// writeAccess writes a kubeconfig for the aggregator with the user of the control plane's configuration.
func (f *aggregatorFlags) writeAccess(config *rest.Config, address net.Addr, ca []byte) error {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return err
	}
	if net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	access := clientcmdapi.NewConfig()
	access.Clusters["aggregator"] = &clientcmdapi.Cluster{
		Server: "https://" + net.JoinHostPort(host, port), CertificateAuthorityData: ca,
	}
	access.AuthInfos["user"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
		Token: config.BearerToken, TokenFile: config.BearerTokenFile, Exec: config.ExecProvider,
	}
	access.Contexts["aggregator"] = &clientcmdapi.Context{Cluster: "aggregator", AuthInfo: "user"}
	access.CurrentContext = "aggregator"
	if err := clientcmd.WriteToFile(*access, f.writeKubeconfig); err != nil {
		return fmt.Errorf("--write-kubeconfig: %w", err)
	}
	return nil
}
