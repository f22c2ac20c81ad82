package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/driver"
)

func proxyCommand() *cobra.Command {
	c := &cobra.Command{Use: "proxy", Short: "Inspect connected sidecars, or run the multi-protocol proxy"}
	c.AddCommand(proxyStatusCommand(), proxyConfigCommand(), proxyRunCommand())
	c.AddCommand(driver.Commands()...)
	return c
}

func proxyStatusCommand() *cobra.Command {
	var s source
	var output *format
	c := &cobra.Command{
		Use:   "status",
		Short: "List connected sidecars and whether their configuration is in sync",
		Long: "List connected sidecars and whether their configuration is in sync.\n\n" +
			"Exit codes: 0 if no sidecar rejects its configuration, 1 if a sidecar does, 2 for wrong usage.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			kube, config, err := s.connect()
			if err != nil {
				return err
			}
			planes, err := controlPlanes(c.Context(), kube, s.system)
			if err != nil {
				return err
			}
			all, err := sidecars(c.Context(), kube, config, s.system)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			if output.isJSON() {
				err = terminal.JSON(out, all)
			} else {
				err = inspect.Table(out, terminal.StyleFor(out), all, defaultDriverOf(c.Context(), config, planes[0]),
					time.Now())
			}
			if err == nil && inspect.AnyRejected(all) {
				return exitError{code: 1}
			}
			return err
		},
	}
	s.addCluster(c)
	output = addFormat(c, "table", "json")
	return c
}

// connect returns a client, and the REST configuration for port-forwarding.
func (s *source) connect() (client.Client, *rest.Config, error) {
	kube, err := s.client()
	if err != nil {
		return nil, nil, err
	}
	config, _, err := clusterConfig(s.kubeconfig, s.context)
	return kube, config, err
}

// sidecars lists the connected sidecars of every control plane.
func sidecars(ctx context.Context, kube client.Client, config *rest.Config, system string) ([]inspect.Sidecar, error) {
	planes, err := controlPlanes(ctx, kube, system)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	var pods corev1.PodList
	if err := kube.List(ctx, &pods); err == nil { // without permission to list pods, the output shows pod UIDs
		for _, p := range pods.Items {
			names[string(p.UID)] = p.Namespace + "/" + p.Name
		}
	}
	all := []inspect.Sidecar{}
	for _, plane := range planes {
		body, err := queryDebug(ctx, config, plane, "/debug/clients")
		if err != nil {
			return nil, err
		}
		var connected []inspect.Sidecar
		if err := json.Unmarshal(body, &connected); err != nil {
			return nil, fmt.Errorf("decoding the sidecar list of control plane %s: %w", plane.Name, err)
		}
		for _, c := range connected {
			c.Pod, c.ControlPlane = names[c.Identity], plane.Name
			all = append(all, c)
		}
	}
	return inspect.MergeAgents(all), nil
}
