package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/adminsocket"
	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/discovery"
)

func proxyRunCommand() *cobra.Command {
	var file, logLevel string
	var o discovery.Options
	c := &cobra.Command{
		Use:   "run (-c FILE | --discovery SOCKET --node ID)",
		Short: "Run the multi-protocol proxy",
		Long: "Run the multi-protocol proxy, with the listeners, clusters and rules of a file of YAML or JSON, or with those that the agent\n" +
			"of a pod relays from the control plane. It runs until it gets SIGTERM or SIGINT. The program anymesh-proxy is the same proxy\n" +
			"with less memory, for files.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if (file == "") == (o.Socket == "") || (o.Node == "") != (o.Socket == "") || file != "" && o.Admin != "" {
				return exitError{2, errors.New("either --config, or --discovery and --node are required")}
			}
			if file != "" && c.Flags().Changed("log-level") {
				return exitError{2, errors.New("--log-level needs --discovery; set admin.log_level in the file")}
			}
			level, known := discovery.Level(logLevel)
			if !known {
				return exitError{2, fmt.Errorf("--log-level %q is unknown; anymesh proxy run --help lists the levels", logLevel)}
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			if file != "" {
				return proxy.Run(ctx, file)
			}
			o.Level = new(slog.LevelVar)
			o.Level.Set(level)
			return discovery.Run(ctx, o, slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: o.Level})))
		},
	}
	c.Flags().StringVarP(&file, "config", "c", "", "configuration, YAML or JSON")
	c.Flags().StringVar(&o.Socket, "discovery", "", "Unix domain socket on which the agent relays the configuration")
	c.Flags().StringVar(&o.Node, "node", "", "xDS node ID of the pod")
	c.Flags().StringVar(&logLevel, "log-level", "info",
		"trace, debug, info, warning, error, critical or off; with --discovery")
	c.Flags().StringVar(&o.Admin, "admin", "",
		"Unix domain socket that takes POST "+adminsocket.DrainPath+", which asks clients to leave, and POST "+
			adminsocket.LevelPath+"?level=LEVEL, which sets the log level; with --discovery")
	return c
}
