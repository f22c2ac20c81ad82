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
		Short: "Kill or restart the API server of a cluster",
		Args:  cobra.NoArgs,
		Long: `Kills the process with etcd, API server, controllers and scheduler of a cluster, or restarts it with the same data.
Pods, the kubelet and kube-proxy continue.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for what, short := range map[string]string{
		lab.KillAPIServer:  "Kill the API server (SIGKILL)",
		lab.StartAPIServer: "Restart the API server and wait until it responds",
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
