package cli

import (
	"os"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/sandbox/internal/lab"
)

func apiServerCommand(p *place) *cobra.Command {
	cluster := "c1"
	c := &cobra.Command{
		Use:   "apiserver",
		Short: "Kill a cluster's API server, or start it again",
		Args:  cobra.NoArgs,
		Long: `Kills the process that is a cluster's etcd, API server, controllers and scheduler, as the loss of its machine would, or starts it again
on the same data. Pods, the kubelet and kube-proxy go on meanwhile.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for what, short := range map[string]string{
		lab.KillAPIServer:  "Kill the API server (SIGKILL)",
		lab.StartAPIServer: "Start the API server again; returns when it answers",
	} {
		c.AddCommand(&cobra.Command{
			Use: what + " [--cluster c1]", Short: short, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, c, err := p.running(cluster)
				if err != nil {
					return err
				}
				_, err = lab.Exec(cmd.Context(), s.Lab.Dir, lab.Command{Cluster: c.Name, APIServer: what}, os.Stdin,
					os.Stdout, os.Stderr)
				return err
			},
		})
	}
	c.PersistentFlags().StringVar(&cluster, "cluster", cluster, "name of the cluster")
	return c
}
