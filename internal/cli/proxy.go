package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/delivery/xds"
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
			all, err := sidecars(c.Context(), kube, config, system)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			if output == "json" {
				err = terminal.JSON(out, all)
			} else {
				err = inspect.Table(out, terminal.StyleFor(out), all, time.Now())
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

func proxyConfigCommand() *cobra.Command {
	var s source
	var output, system string
	c := &cobra.Command{
		Use:   "config WORKLOAD",
		Short: "Tell the configuration of a workload's sidecars: listeners, routes, clusters",
		Long: "Tell the configuration of a workload's sidecars in words, or whole with --output json. A workload is NAMESPACE/NAME of its object, its name in\n" +
			"the mesh, or pod/NAME.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exitError{2, fmt.Errorf("want one workload\n\n%s", c.UsageString())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := terminal.CheckFormat(output, "text", "json"); err != nil {
				return exitError{2, err}
			}
			kube, config, err := s.connect()
			if err != nil {
				return err
			}
			state, _, err := s.state(c.Context(), nil)
			if err != nil {
				return err
			}
			w, err := lookup.FindWorkload(state, args[0], s.namespace)
			if err != nil {
				return err
			}
			pods, err := controlPlanes(c.Context(), kube, system)
			if err != nil {
				return err
			}
			query := url.Values{"mesh": {w.Mesh}, "workload": {w.Name}}
			dump, err := askDebug(c.Context(), config, pods[0], "/debug/envoy?"+query.Encode())
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			if output == "json" {
				return terminal.JSON(out, json.RawMessage(dump))
			}
			envoy, err := inspect.ParseEnvoy(dump)
			if err != nil {
				return err
			}
			return envoy.Outline(out, terminal.StyleFor(out))
		},
	}
	s.addCluster(c)
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
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
		var clients []xds.Client
		if err := json.Unmarshal(body, &clients); err != nil {
			return nil, fmt.Errorf("the list of control plane %s: %w", plane.Name, err)
		}
		for _, c := range clients {
			all = append(all, inspect.Sidecar{Client: c, Pod: names[c.Identity], ControlPlane: plane.Name})
		}
	}
	return all, nil
}
