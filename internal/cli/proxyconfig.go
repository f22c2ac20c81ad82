package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/sidecar"
)

// proxyConfig are the flags of "proxy config".
type proxyConfig struct {
	source
	output, system, driver string
}

func proxyConfigCommand() *cobra.Command {
	var p proxyConfig
	c := &cobra.Command{
		Use:   "config WORKLOAD",
		Short: "Show the configuration of a workload's sidecars: listeners, routes, clusters",
		Long: "Show the configuration of a workload's sidecars: a summary, or with --output json all resources.\n\n" +
			"WORKLOAD is NAMESPACE/NAME of the object, the name in the mesh, or pod/NAME. If its pods use several sidecar drivers,\n" +
			"--driver selects one.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exitError{2, fmt.Errorf("expected one workload\n\n%s", c.UsageString())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := terminal.CheckFormat(p.output, "text", "json"); err != nil {
				return exitError{2, err}
			}
			state, _, err := p.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			w, err := lookup.FindWorkload(state, args[0], p.namespace)
			if err != nil {
				return err
			}
			dump, class, err := p.dump(c.Context(), state, w)
			if err != nil {
				return err
			}
			return p.show(c.OutOrStdout(), class, dump)
		},
	}
	p.add(c)
	c.Flags().StringVarP(&p.output, "output", "o", "text", "text or json")
	c.Flags().StringVar(&p.driver, "driver", "", "sidecar driver, if the pods of the workload use several")
	addSystemNamespace(c, &p.system)
	return c
}

// dump gets the configuration from a control plane, or renders it from files. class is the sidecar driver.
func (p *proxyConfig) dump(ctx context.Context, state *engine.State,
	w lookup.Workload) (dump []byte, class string, err error) {
	if len(p.files) > 0 {
		if class, err = p.choose(state, w, driver.Default); err != nil {
			return nil, "", err
		}
		renderer, known := sidecar.RendererOf(class)
		if !known {
			return nil, "", fmt.Errorf("unknown sidecar driver %q; known drivers are %s", class,
				strings.Join(sidecar.Drivers(), ", "))
		}
		resources, _ := sidecar.Configuration(renderer, state.Views[w.Key].View, state.Index.ResolvedDestination)
		dump, err = inspect.Dump(renderer, resources)
		return dump, class, err
	}
	kube, config, err := p.connect()
	if err != nil {
		return nil, "", err
	}
	pods, err := controlPlanes(ctx, kube, p.system)
	if err != nil {
		return nil, "", err
	}
	if class, err = p.choose(state, w, defaultDriverOf(ctx, config, pods[0])); err != nil {
		return nil, "", err
	}
	query := url.Values{"mesh": {w.Mesh}, "workload": {w.Name}}
	dump, err = queryDebug(ctx, config, pods[0], "/debug/"+url.PathEscape(class)+"?"+query.Encode())
	return dump, class, err
}

// choose returns the driver of the flag, of the pod, or the only driver of the workload.
func (p *proxyConfig) choose(state *engine.State, w lookup.Workload, defaultDriver string) (string, error) {
	if p.driver != "" {
		return p.driver, nil
	}
	if w.Pod != nil {
		return cmp.Or(state.ClassOf(w.Pod.Instance.UID), defaultDriver), nil
	}
	all := state.Drivers(w.Key, defaultDriver)
	if len(all) > 1 {
		return "", exitError{
			2,
			fmt.Errorf("the pods of workload %s use the sidecar drivers %s; select one with --driver", w.Key,
				strings.Join(all, ", ")),
		}
	}
	return all[0], nil
}

func (p *proxyConfig) show(out io.Writer, class string, dump []byte) error {
	renderer, _ := sidecar.RendererOf(class) // nil for a driver that this program does not know: JSON is printed
	if p.output == "json" {
		return terminal.JSON(out, json.RawMessage(dump))
	}
	return inspect.Outline(out, terminal.StyleFor(out), renderer, dump)
}

// defaultDriverOf gets the default driver of a control plane. Older versions have one driver only, and no such
// endpoint.
func defaultDriverOf(ctx context.Context, config *rest.Config, plane corev1.Pod) string {
	var all []struct {
		Name    string
		Default bool
	}
	if body, err := queryDebug(ctx, config, plane, "/debug/drivers"); err != nil || json.Unmarshal(body, &all) != nil {
		return driver.Default
	}
	for _, d := range all {
		if d.Default {
			return d.Name
		}
	}
	return driver.Default
}
