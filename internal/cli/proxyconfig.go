package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// proxyConfig are the flags of "proxy config".
type proxyConfig struct {
	source
	driver string
	output *format
}

func proxyConfigCommand() *cobra.Command {
	var p proxyConfig
	c := &cobra.Command{
		Use:   "config WORKLOAD",
		Short: "Show the configuration of a workload's sidecars: listeners, routes, clusters, host names",
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
			state, _, err := p.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			w, err := lookup.FindWorkload(state, args[0], p.namespace)
			if err != nil {
				return err
			}
			configuration, err := p.configuration(c.Context(), state, w)
			if err != nil {
				return err
			}
			if w.DNS == model.DNSOff { // of a pod, if agents of other pods of the workload have names
				configuration.hosts = nil
			}
			if view := state.Views[w.Key]; len(p.files) > 0 && hasAssumedAddresses(view.View) {
				printNotes(c, []string{"addresses of 2001:db8::/32 stand for those that the cluster assigns to Services"})
			}
			return p.show(c.OutOrStdout(), configuration)
		},
	}
	p.add(c)
	p.output = addFormat(c, "text", "json")
	c.Flags().StringVar(&p.driver, "driver", "", "sidecar driver, if the pods of the workload use several")
	completeDrivers(c, "driver")
	c.ValidArgsFunction = p.completeWorkload
	return c
}

// configuration is the configuration of the sidecars of a workload.
type configuration struct {
	// class is the sidecar driver.
	class string
	dump  []byte
	// hosts are the host names that agents answer.
	hosts []model.Host
}

// configuration gets the configuration from a control plane, or renders it from files.
func (p *proxyConfig) configuration(ctx context.Context, state *engine.State,
	w lookup.Workload) (out configuration, err error) {
	if len(p.files) > 0 {
		if out.class, err = p.choose(state, w, driver.Default); err != nil {
			return out, err
		}
		renderer, known := sidecar.RendererOf(out.class)
		if !known {
			return out, fmt.Errorf("unknown sidecar driver %q; known drivers are %s", out.class,
				strings.Join(sidecar.Drivers(), ", "))
		}
		view := state.Views[w.Key].View
		resources, _ := sidecar.Configuration(sidecar.Protected(out.class, renderer), view, state.Index.ResolvedDestination)
		out.dump, err = inspect.Dump(renderer, resources)
		out.hosts = hostsOf(w, view.Hosts)
		return out, err
	}
	kube, config, err := p.connect()
	if err != nil {
		return out, err
	}
	pods, err := controlPlanes(ctx, kube, p.system)
	if err != nil {
		return out, err
	}
	if out.class, err = p.choose(state, w, defaultDriverOf(ctx, config, pods[0])); err != nil {
		return out, err
	}
	query := url.Values{"mesh": {w.Mesh}, "workload": {w.Name}}.Encode()
	if out.dump, err = queryDebug(ctx, config, pods[0], "/debug/"+url.PathEscape(out.class)+"?"+query); err != nil {
		return out, err
	}
	body, err := queryDebug(ctx, config, pods[0], "/debug/views?"+query)
	if err != nil {
		return out, err
	}
	var served struct{ View struct{ Hosts []model.Host } }
	if err := json.Unmarshal(body, &served); err != nil {
		return out, fmt.Errorf("decoding the view of workload %s: %w", w.Key, err)
	}
	out.hosts = hostsOf(w, served.View.Hosts)
	return out, nil
}

// hostsOf returns the names that the agents of a workload answer. Those of gateways answer none.
func hostsOf(w lookup.Workload, hosts []model.Host) []model.Host {
	if w.Role == model.RoleGateway {
		return nil
	}
	return hosts
}

// hasAssumedAddresses reports whether sidecars match addresses that the files do not have.
func hasAssumedAddresses(v *model.View) bool {
	return slices.ContainsFunc(v.Outbound, func(o model.Outbound) bool {
		return slices.ContainsFunc(o.Bindings, func(b model.Binding) bool {
			return b.MatchAddress && slices.ContainsFunc(b.Addresses, manifest.Assumed)
		})
	})
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

func (p *proxyConfig) show(out io.Writer, c configuration) error {
	renderer, _ := sidecar.RendererOf(c.class) // nil for a driver that this program does not know: JSON is printed
	if !p.output.isJSON() {
		return inspect.Outline(out, terminal.StyleFor(out), renderer, c.dump, c.hosts)
	}
	all, err := inspect.WithNames(c.dump, c.hosts)
	if err != nil {
		return err
	}
	return terminal.JSON(out, all)
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
