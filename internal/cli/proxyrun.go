package cli

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/proxy"
)

func proxyRunCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run the multi-protocol proxy on this machine",
		Long: "Run the multi-protocol proxy on this machine, with the listeners, clusters and rules of a file of YAML or JSON. It runs\n" +
			"until it gets SIGTERM or SIGINT. The program anymesh-proxy is the same proxy with less memory.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return proxy.Run(ctx, file)
		},
	}
	c.Flags().StringVarP(&file, "config", "c", "", "configuration, YAML or JSON")
	_ = c.MarkFlagRequired("config") // the flag exists
	return c
}
