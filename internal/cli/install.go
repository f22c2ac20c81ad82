package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/cli/install"
)

// installFlags are those that both verbs have, so that uninstall finds what install made.
type installFlags struct {
	kubeconfig string
	namespace  string
	values     []string
	sets       []string
	timeout    time.Duration
}

func (f *installFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file")
	c.Flags().StringVarP(&f.namespace, "namespace", "n", "anymesh-system", "namespace of the control plane")
	c.Flags().StringArrayVarP(&f.values, "values", "f", nil, "file with values for the chart; the last one wins")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "one value for the chart: name=value")
	c.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long to wait for the cluster")
}

// options reads the values in the order in which Helm does.
func (f *installFlags) options() (install.Options, error) {
	o := install.Options{Namespace: f.namespace, Values: map[string]any{}}
	for _, name := range f.values {
		text, err := os.ReadFile(name)
		if err != nil {
			return o, fmt.Errorf("--values: %w", err)
		}
		more := map[string]any{}
		if err := yaml.Unmarshal(text, &more); err != nil {
			return o, fmt.Errorf("--values %s: %w", name, err)
		}
		overlay(o.Values, more)
	}
	for _, set := range f.sets {
		if err := strvals.ParseInto(set, o.Values); err != nil {
			return o, fmt.Errorf("--set %s: %w", set, err)
		}
	}
	return o, nil
}

// overlay lays values over others, deep in maps and whole elsewhere.
func overlay(under, over map[string]any) {
	for name, value := range over {
		inner, ok1 := value.(map[string]any)
		outer, ok2 := under[name].(map[string]any)
		if ok1 && ok2 {
			overlay(outer, inner)
			continue
		}
		under[name] = value
	}
}

func installCommand() *cobra.Command {
	var f installFlags
	var dryRun, noWait, skipCRDs bool
	c := &cobra.Command{
		Use:   "install",
		Short: "Install Anymesh into a cluster, or bring an installation up to date",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.options()
			if err != nil {
				return exitError{2, err}
			}
			o.SkipCRDs = skipCRDs
			objects, err := install.Manifests(o)
			if err != nil {
				return err
			}
			if dryRun {
				text, err := install.YAML(objects)
				if err != nil {
					return err
				}
				_, err = c.OutOrStdout().Write(text)
				return err
			}
			kube, err := kubeClient(f.kubeconfig)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
			defer cancel()
			say := teller(c, "applied")
			if err := install.Apply(ctx, kube, objects, say); err != nil {
				return err
			}
			if noWait {
				return nil
			}
			if err := install.WaitReady(ctx, kube, objects, teller(c, "")); err != nil {
				return err
			}
			c.Printf("Anymesh is ready in namespace %s.\n", f.namespace)
			return nil
		},
	}
	f.add(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print the manifests and change nothing")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until the control plane is ready")
	c.Flags().BoolVar(&skipCRDs, "skip-crds", false, "leave the CustomResourceDefinitions as they are")
	return c
}

func uninstallCommand() *cobra.Command {
	var f installFlags
	var deleteCRDs bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Anymesh from a cluster",
		Long: "Remove Anymesh from a cluster. Sidecars that run keep their configuration until their pods are replaced.\n" +
			"CustomResourceDefinitions stay, and with them every object of users, unless --delete-crds is given.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.options()
			if err != nil {
				return exitError{2, err}
			}
			objects, err := install.Manifests(o)
			if err != nil {
				return err
			}
			kube, err := kubeClient(f.kubeconfig)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
			defer cancel()
			return install.Delete(ctx, kube, objects, !deleteCRDs, teller(c, "deleted"))
		},
	}
	f.add(c)
	c.Flags().BoolVar(&deleteCRDs, "delete-crds", false, "delete the CustomResourceDefinitions, and with them every object of users")
	return c
}

// teller prints progress, a line a thing.
func teller(c *cobra.Command, verb string) func(string) {
	return func(what string) { c.Println(strings.TrimSpace(verb + " " + what)) }
}
