package agent

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// Command is "anymesh agent". Its error is an ExitError if the proxy failed;
// the process should then end with that code and say nothing.
func Command() *cobra.Command {
	var cfg Config
	cmd := &cobra.Command{
		Use:   "agent [flags] -- command [args]",
		Short: "Run a sidecar proxy with certificates and probes",
		Long: "Gets a certificate for the pod, keeps it fresh, runs the proxy and answers kubelet's probes.\n" +
			"The app's original probes are read from " + ProbesEnv + ".",
		Args:          cobra.MinimumNArgs(1),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n > 0 {
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
	f.StringVar(&cfg.SigningURL, "signing-url", "https://anymesh.anymesh-system.svc:15010", "signing server's URL")
	f.StringVar(&cfg.SigningName, "signing-name", "", "DNS name the signing server proves (default the URL's host)")
	f.StringVar(&cfg.TokenPath, "token", "/var/run/secrets/anymesh.dev/token", "file of the projected token")
	f.StringVar(&cfg.RootsPath, "roots", "/etc/anymesh/root.pem", "file of the trust bundle")
	f.StringVar(&cfg.CertDir, "cert-dir", "/run/anymesh/certs", "folder for tls.crt, tls.key and ca.crt")
	f.StringVar(&cfg.Listen, "listen", ":15020", "address for probes and metrics")
	f.StringSliceVar(&cfg.ProbeHosts, "probe-host", nil, "addresses where the app's probes are tried (default 127.0.0.1 and ::1)")
	f.StringVar(&cfg.ReadyURL, "ready-url", "", "URL that answers 200 when the proxy is ready")
	f.StringVar(&cfg.MetricsURL, "metrics-url", "", "URL of the proxy's metrics, to be served with the agent's")
	f.StringVar(&cfg.OnTermPost, "on-term-post", "", "URL that gets a POST when the pod stops")
	f.DurationVar(&cfg.TermWait, "term-wait", 0*time.Second, "how long the proxy goes on after a stop signal")
	return cmd
}
