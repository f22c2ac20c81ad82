package agent

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/sidecar"
)

// Command is "anymesh agent". If the proxy failed, its error is an ExitError; the process must then exit with that
// code without a message.
func Command() *cobra.Command {
	var cfg Config
	cmd := &cobra.Command{
		Use:   "agent [flags] [-- command [args]]",
		Short: "Run a sidecar proxy with certificates and probes",
		Long: "Requests and renews the certificate of the pod, runs the proxy and serves the probes of kubelet.\n" +
			"Without a command, the application is its own proxy, as gRPC libraries with xDS are.\n" +
			"The original probes of the application are read from " + ProbesEnv + ".",
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n > 0 || n < 0 && len(args) > 0 {
				return fmt.Errorf("agent: unexpected argument %q before --", args[0])
			}
			cfg.Command = args
			var err error
			if cfg.Probes, err = ParseProbes(os.Getenv(ProbesEnv)); err != nil {
				return err
			}
			return Run(cmd.Context(), cfg)
		},
	}
	cmd.AddCommand(drainCommand())
	f := cmd.Flags()
	f.StringVar(&cfg.SigningURL, "signing-url", "https://anymesh.anymesh-system.svc:15010", "URL of the signing server")
	f.StringVar(&cfg.SigningServerName, "signing-name", "",
		"DNS name of the signing server's certificate (default: host of the URL)")
	f.StringVar(&cfg.FilesDir, "files-dir", "",
		"folder for the files of the proxy, whose content is in variables "+sidecar.FileVariable+"NAME")
	f.StringVar(&cfg.TokenPath, "token", "/var/run/secrets/anymesh.dev/token",
		"file of the projected service account token")
	f.StringVar(&cfg.RootsPath, "roots", "/etc/anymesh/root.pem", "file of the trust bundle")
	f.StringVar(&cfg.CertDir, "cert-dir", "/run/anymesh/certs", "folder for tls.crt, tls.key and ca.crt")
	f.StringVar(&cfg.XDSAddress, "xds-address", "", "host:port of the xDS server, for the authority and the host names of the mesh")
	f.Uint16Var(&cfg.DNSPort, "dns-port", 0, "port of the DNS server on the loopback addresses; 0 disables it")
	f.StringVar(&cfg.Listen, "listen", ":15020", "address for probes and metrics")
	f.StringSliceVar(&cfg.ProbeHosts, "probe-host", nil,
		"addresses for probes of the application (default 127.0.0.1 and ::1)")
	f.StringVar(&cfg.ReadyURL, "ready-url", "", "URL that returns status 200 when the proxy is ready")
	f.StringVar(&cfg.HealthURL, "health-url", "",
		"URL of gauges in Prometheus text format, one for each listener that must be healthy for the pod to be ready")
	f.StringVar(&cfg.MetricsURL, "metrics-url", "",
		"URL of the proxy's metrics, which are appended to those of the agent")
	f.StringVar(&cfg.ConfigArgument, "config-argument", "",
		"option of the proxy that takes configuration as JSON, for the files of --config-file")
	f.StringArrayVar(&cfg.ConfigFiles, "config-file", nil, "YAML file with configuration of the proxy; can be repeated")
	f.StringVar(&cfg.AccessLog, "access-log", "", "file into which the proxy writes its access log")
	f.StringVar(&cfg.AccessLogTarget, "access-log-target", "", "file to which the access log is linked")
	f.StringVar(&cfg.SecretsSocket, "secrets-socket", "",
		"Unix domain socket on which the proxy gets certificates of Secrets, which the service account of the pod may read")
	f.StringVar(&cfg.RelaySocket, "relay-socket", "",
		"Unix domain socket on which the proxy gets its configuration, with certificates from files")
	f.StringVar(&cfg.RelayAddress, "relay-address", "", "host:port of the xDS server of --relay-socket")
	f.StringVar(&cfg.LogLevelSocket, "log-level-socket", "",
		"Unix domain socket of the proxy that takes POST "+levelPath+"LEVEL, for the log level that the control plane sends; "+
			"needs --relay-socket")
	f.StringVar(&cfg.DrainURL, "drain-url", "", "URL that receives a POST when the pod terminates")
	f.DurationVar(&cfg.DrainDuration, "drain-duration", 0*time.Second,
		"time from SIGTERM to the termination of the proxy")
	return cmd
}
