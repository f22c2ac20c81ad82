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
)

func proxyCommand() *cobra.Command {
	c := &cobra.Command{Use: "proxy", Short: "Look at sidecars: who is connected, and with which configuration"}
	c.AddCommand(proxyStatusCommand(), proxyConfigCommand())
	return c
}

func proxyStatusCommand() *cobra.Command {
	var s source
	var output, system string
	c := &cobra.Command{
		Use:   "status",
		Short: "List the connected sidecars, and how far each is with its configuration",
		Long: "List the connected sidecars, and how far each is with its configuration.\n\n" +
			"Exit code 0 means that no sidecar refuses its configuration, 1 that one does.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := terminal.CheckFormat(output, "table", "json"); err != nil {
				return exitError{2, err}
			}
			kube, config, err := s.connect()
			if err != nil {
				return err
			}
			planes, err := controlPlanes(c.Context(), kube, system)
			if err != nil {
				return err
			}
			all, err := sidecars(c.Context(), kube, config, system)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			if output == "json" {
				err = terminal.JSON(out, all)
			} else {
				err = inspect.Table(out, terminal.StyleFor(out), all, usualOf(c.Context(), config, planes[0]), time.Now())
			}
			if err == nil && inspect.Refuses(all) {
				return exitError{code: 1}
			}
			return err
		},
	}
	s.addCluster(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	addSystemNamespace(c, &system)
	return c
}

func addSystemNamespace(c *cobra.Command, namespace *string) {
	c.Flags().StringVar(namespace, "system-namespace", "anymesh-system", "namespace of the control plane")
}

// connect gives a client, and the configuration for what goes past it.
func (s *source) connect() (client.Client, *rest.Config, error) {
	kube, err := s.client()
	if err != nil {
		return nil, nil, err
	}
	config, _, err := clusterConfig(s.kubeconfig, s.context)
	return kube, config, err
}

// sidecars asks every control plane for the sidecars that are connected to it.
func sidecars(ctx context.Context, kube client.Client, config *rest.Config, system string) ([]inspect.Sidecar, error) {
	planes, err := controlPlanes(ctx, kube, system)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	var pods corev1.PodList
	if err := kube.List(ctx, &pods); err == nil { // without the right to list pods, their ids are shown
		for _, p := range pods.Items {
			names[string(p.UID)] = p.Namespace + "/" + p.Name
		}
	}
	all := []inspect.Sidecar{}
	for _, plane := range planes {
		body, err := askDebug(ctx, config, plane, "/debug/clients")
		if err != nil {
			return nil, err
		}
		var connected []inspect.Sidecar
		if err := json.Unmarshal(body, &connected); err != nil {
			return nil, fmt.Errorf("the list of control plane %s: %w", plane.Name, err)
		}
		for _, c := range connected {
			c.Pod, c.ControlPlane = names[c.Identity], plane.Name
			all = append(all, c)
		}
	}
	return all, nil
}
