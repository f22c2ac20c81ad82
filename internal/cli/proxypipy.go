package cli

import (
	"errors"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/driver/pipy"
	"anymesh.dev/anymesh/internal/driver/pipy/repo"
)

func proxyPipyCommand() *cobra.Command {
	var o repo.Options
	c := &cobra.Command{
		Use:   "pipy --discovery SOCKET --node ID",
		Short: "Run pipy as a sidecar",
		Long: "Run the program pipy as a sidecar, with the configuration that the agent of a pod relays from the control plane. The\n" +
			"configuration and the scripts are served to pipy on the loopback address. It runs until it gets SIGTERM or SIGINT.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Socket == "" || o.Node == "" {
				return exitError{2, errors.New("--discovery and --node are required")}
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return repo.Run(ctx, o, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
		},
	}
	c.Flags().StringVar(&o.Socket, "discovery", "", "Unix domain socket on which the agent relays the configuration")
	c.Flags().StringVar(&o.Node, "node", "", "xDS node ID of the pod")
	c.Flags().StringVar(&o.Admin, "admin", "", "Unix domain socket that takes POST "+repo.DrainPath+", which asks clients to leave")
	c.Flags().StringVar(&o.Program, "program", pipy.Name, "name or path of the program pipy")
	return c
}
