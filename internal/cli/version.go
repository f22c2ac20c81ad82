package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/build"
	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/cli/terminal"
)

func versionCommand() *cobra.Command {
	var s source
	var output *format
	var clientOnly bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this program, the control plane and the sidecars",
		Long: "Show the versions of this program, of each replica of the control plane, and of the sidecars' images.\n\n" +
			"Exit codes: 0, or 1 if the cluster cannot be read and --client is not set, 2 for wrong usage.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			versions := inspect.Versions{Client: build.Read()}
			var failure error
			if !clientOnly {
				ctx, cancel := context.WithTimeout(c.Context(), 10*time.Second)
				defer cancel()
				failure = s.clusterVersions(ctx, &versions)
			}
			out := c.OutOrStdout()
			var err error
			if output.isJSON() {
				err = terminal.JSON(out, versions)
			} else {
				err = versions.Table(out, terminal.StyleFor(out))
			}
			return cmp.Or(err, failure)
		},
	}
	s.addCluster(c)
	c.Flags().BoolVar(&clientOnly, "client", false, "show only the version of this program, without a cluster")
	output = addFormat(c, "table", "json")
	return c
}

// clusterVersions adds the versions of control plane and sidecars.
func (s *source) clusterVersions(ctx context.Context, to *inspect.Versions) error {
	kube, config, err := s.connect()
	if err != nil {
		return err
	}
	planes, err := controlPlanes(ctx, kube, s.system)
	if err != nil {
		return err
	}
	for _, plane := range planes {
		body, err := queryDebug(ctx, config, plane, build.Path)
		if err != nil {
			return err
		}
		replica := inspect.ReplicaVersion{Pod: plane.Name}
		if err := json.Unmarshal(body, &replica.Info); err != nil {
			return fmt.Errorf("decoding the version of control plane %s: %w", plane.Name, err)
		}
		to.ControlPlane = append(to.ControlPlane, replica)
	}
	var pods corev1.PodList
	if err := kube.List(ctx, &pods); err != nil {
		return fmt.Errorf("listing pods, for the versions of sidecars: %w", err)
	}
	to.Sidecars = inspect.SidecarVersions(pods.Items)
	return nil
}
