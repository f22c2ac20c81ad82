package cli

import (
	"os"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/sandbox/internal/lab"
)

func apiServerCommand(p *place) *cobra.Command {
	return componentCommand(p, "apiserver", lab.ControlPlane, "the API server",
		`Kills the process with etcd, API server, controllers and scheduler of a cluster, or restarts it with the same data.
Pods, the kubelet and kube-proxy continue.`)
}

func dnsCommand(p *place) *cobra.Command {
	return componentCommand(p, "dns", lab.DNS, "CoreDNS",
		"Kills CoreDNS of a cluster, or restarts it. Everything else continues.")
}

// componentCommand returns the command that kills and restarts a component of a cluster.
func componentCommand(p *place, use, component, title, long string) *cobra.Command {
	cluster := "c1"
	c := &cobra.Command{
		Use:   use,
		Short: "Kill or restart " + title + " of a cluster",
		Args:  cobra.NoArgs,
		Long:  long,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for action, short := range map[string]string{
		lab.Kill:  "Kill " + title + " (SIGKILL)",
		lab.Start: "Restart " + title + " and wait until it responds",
	} {
		c.AddCommand(&cobra.Command{
			Use: action + " [--cluster c1]", Short: short, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, c, err := p.running(cluster)
				if err != nil {
					return err
				}
				command := lab.Command{Cluster: c.Name, Component: component, Action: action}
				_, err = lab.Exec(cmd.Context(), s.Lab.Dir, command, os.Stdin, os.Stdout, os.Stderr)
				return err
			},
		})
	}
	c.PersistentFlags().StringVar(&cluster, "cluster", cluster, "name of the cluster")
	return c
}
