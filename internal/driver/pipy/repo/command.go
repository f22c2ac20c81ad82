package repo

import (
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/adminsocket"
	"anymesh.dev/anymesh/internal/driver/pipy"
)

// Command is "anymesh proxy pipy".
func Command() *cobra.Command {
	var o Options
	c := &cobra.Command{
		Use:   "pipy --discovery SOCKET --node ID",
		Short: "Run pipy as a sidecar",
		Long: "Run the program pipy as a sidecar, with the configuration that the agent of a pod relays from the control plane. The\n" +
			"configuration and the scripts are served to pipy on the loopback address. It runs until it gets SIGTERM or SIGINT.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return Run(ctx, o, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
		},
	}
	c.Flags().StringVar(&o.Socket, "discovery", "", "Unix domain socket on which the agent relays the configuration")
	c.Flags().StringVar(&o.Node, "node", "", "xDS node ID of the pod")
	c.Flags().StringVar(&o.Admin, "admin", "", "Unix domain socket that takes POST "+adminsocket.DrainPath+", which asks clients to leave")
	for _, name := range []string{"discovery", "node"} {
		_ = c.MarkFlagRequired(name) // only fails for an unknown flag
	}
	c.Flags().StringVar(&o.Program, "program", pipy.Name, "name or path of the program pipy")
	return c
}
