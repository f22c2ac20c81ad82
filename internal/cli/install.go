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

// installFlags are the flags of both verbs. uninstall needs the same values to find the objects of install.
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
	c.Flags().StringArrayVarP(&f.values, "values", "f", nil,
		"file with chart values; later files take precedence; may be repeated")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "chart value as name=value; may be repeated")
	c.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "maximum time to wait for the cluster")
}

// options merges the values in the order of Helm: files first, then --set.
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

// overlay merges values: maps are merged recursively, other values are replaced.
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
		Short: "Install Anymesh into a cluster, or upgrade an installation",
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
			if err := install.Apply(ctx, kube, objects, progressPrinter(c, "applied")); err != nil {
				return err
			}
			if noWait {
				return nil
			}
			if err := install.WaitReady(ctx, kube, objects, progressPrinter(c, "")); err != nil {
				return err
			}
			c.Printf("Anymesh is ready in namespace %s.\n", f.namespace)
			return nil
		},
	}
	f.add(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print the manifests without applying them")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until the control plane is ready")
	c.Flags().BoolVar(&skipCRDs, "skip-crds", false, "do not apply CustomResourceDefinitions")
	return c
}

func uninstallCommand() *cobra.Command {
	var f installFlags
	var deleteCRDs bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Anymesh from a cluster",
		Long: "Remove Anymesh from a cluster. Running sidecars keep their configuration until their pods are replaced.\n" +
			"CustomResourceDefinitions and user objects are kept, unless --delete-crds is set.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.options()
			if err != nil {
				return exitError{2, err}
			}
			objects, err := install.Manifests(o.WithOptionalParts())
			if err != nil {
				return err
			}
			kube, err := kubeClient(f.kubeconfig)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
			defer cancel()
			return install.Delete(ctx, kube, objects, !deleteCRDs, progressPrinter(c, "deleted"))
		},
	}
	f.add(c)
	c.Flags().BoolVar(&deleteCRDs, "delete-crds", false,
		"also delete the CustomResourceDefinitions and all user objects of these kinds")
	return c
}

// progressPrinter prints one line per object.
func progressPrinter(c *cobra.Command, verb string) func(string) {
	return func(what string) { c.Println(strings.TrimSpace(verb + " " + what)) }
}
