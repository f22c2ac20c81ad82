package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	"anymesh.dev/anymesh/sandbox/internal/lab"
)

func kubectlCommand(p *place) *cobra.Command {
	cluster := "c1"
	c := &cobra.Command{
		Use:   "kubectl [--cluster c1] -- ARGS...",
		Short: "Run kubectl against a cluster",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, c, err := p.running(cluster)
			if err != nil {
				return err
			}
			if err := os.Setenv("KUBECONFIG", s.Lab.Kubeconfig(c)); err != nil {
				return err
			}
			// kubectl reads plugin names from os.Args.
			os.Args = append([]string{"kubectl"}, args...)
			kubectl := cmd.NewDefaultKubectlCommand()
			if err := cli.RunNoErrOutput(kubectl); err != nil {
				util.CheckErr(err) // prints the error and exits like kubectl
			}
			return nil
		},
	}
	c.Flags().StringVar(&cluster, "cluster", cluster, "name of the cluster")
	return c
}

var errNotReady = errors.New("the sandbox is not ready; run \"status\"")

// ready returns the state of a running lab.
func (p *place) ready() (lab.State, error) {
	dir, err := p.folder()
	if err != nil {
		return lab.State{}, err
	}
	s, err := lab.Read(dir)
	if err == nil && s.Phase != lab.Ready {
		err = errNotReady
	}
	return s, err
}
