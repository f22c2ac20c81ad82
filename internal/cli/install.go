package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/cli/check"
	"anymesh.dev/anymesh/internal/cli/install"
	"anymesh.dev/anymesh/internal/identity"
)

// installFlags are the flags of both verbs. uninstall needs the same values to find the objects of install.
type installFlags struct {
	kubeconfig string
	context    string
	namespace  string
	values     []string
	sets       []string
	timeout    time.Duration
}

func (f *installFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file")
	c.Flags().StringVar(&f.context, "context", "", "kubeconfig context; the current context if empty")
	completeContexts(c, "context", &f.kubeconfig)
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
	var dryRun, noWait, skipCRDs, resetValues bool
	c := &cobra.Command{
		Use:   "install",
		Short: "Install Anymesh into a cluster, or upgrade an installation",
		Long: "Install Anymesh into a cluster, or upgrade an installation and its CustomResourceDefinitions.\n" +
			"An upgrade keeps the values of the last anymesh install that the flags do not set, and prints them.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.options()
			if err != nil {
				return exitError{2, err}
			}
			o.SkipCRDs = skipCRDs
			if dryRun {
				objects, err := install.Manifests(o)
				if err != nil {
					return err
				}
				text, err := install.YAML(objects)
				if err != nil {
					return err
				}
				_, err = c.OutOrStdout().Write(text)
				return err
			}
			kube, err := kubeClient(f.kubeconfig, f.context)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
			defer cancel()
			if !resetValues {
				if err := f.keepValues(ctx, c, kube, &o); err != nil {
					return err
				}
			}
			objects, err := install.Manifests(o)
			if err != nil {
				return err
			}
			record, err := install.ValuesObject(o)
			if err != nil {
				return err
			}
			if err := install.Apply(ctx, kube, append(objects, record), progressPrinter(c, "applied")); err != nil {
				return err
			}
			if noWait {
				return nil
			}
			if err := install.WaitReady(ctx, kube, objects, progressPrinter(c, "")); err != nil {
				return err
			}
			c.Printf("Anymesh is ready in namespace %s.\n", f.namespace)
			pods, err := check.ForeignAuthority(ctx, &check.Cluster{Client: kube, Namespace: f.namespace})
			if pods != "" {
				c.PrintErrln("warning:", pods)
			}
			return err
		},
	}
	f.add(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false,
		"print the manifests with the values of the flags; read and change nothing in the cluster")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until the control plane is ready")
	c.Flags().BoolVar(&skipCRDs, "skip-crds", false, "do not apply CustomResourceDefinitions")
	c.Flags().BoolVar(&resetValues, "reset-values", false, "forget the values of the last installation")
	return c
}

// keepValues adds the values of the last installation to those of the flags, and prints what it keeps and what changes.
func (f *installFlags) keepValues(ctx context.Context, c *cobra.Command, kube client.Client, o *install.Options) error {
	earlier, err := install.EarlierValues(ctx, kube, f.namespace)
	if err != nil {
		return fmt.Errorf("values of the last installation: %w", err)
	}
	merged, kept, changed := install.KeepValues(o.Values, earlier)
	o.Values = merged
	for _, value := range kept {
		c.Println("kept value", value)
	}
	for _, value := range changed {
		c.Println("changed value", value)
	}
	if len(kept) > 0 {
		c.Println("--reset-values forgets the kept values")
	}
	return nil
}

func uninstallCommand() *cobra.Command {
	var f installFlags
	var deleteCRDs, deleteAuthority, yes bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Anymesh from a cluster",
		Long: "Remove Anymesh from a cluster. Running sidecars keep their configuration until their pods are replaced.\n" +
			"CustomResourceDefinitions and user objects are kept, unless --delete-crds is set. The namespace of the control\n" +
			"plane is kept, too: its Secret " + identity.CASecret + " is the authority that running sidecars trust, and that a later\n" +
			"installation uses again. --delete-authority deletes both.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if deleteCRDs && !yes {
				return exitError{2, errors.New("--delete-crds deletes all user objects of these kinds: confirm it with --yes")}
			}
			o, err := f.options()
			if err != nil {
				return exitError{2, err}
			}
			kube, err := kubeClient(f.kubeconfig, f.context)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
			defer cancel()
			return f.uninstall(ctx, c, kube, o, deleteCRDs, deleteAuthority)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&deleteCRDs, "delete-crds", false,
		"also delete the CustomResourceDefinitions and all user objects of these kinds; needs --yes")
	c.Flags().BoolVar(&deleteAuthority, "delete-authority", false,
		"also delete the namespace of the control plane, with all that is in it, and with the authority of the mesh")
	c.Flags().BoolVar(&yes, "yes", false, "confirm --delete-crds")
	return c
}

// uninstall deletes the objects of an installation with any values, and prints what it keeps.
func (f *installFlags) uninstall(ctx context.Context, c *cobra.Command, kube client.Client, o install.Options,
	deleteCRDs, deleteAuthority bool) error {
	earlier, err := install.EarlierValues(ctx, kube, f.namespace)
	if err != nil {
		return fmt.Errorf("values of the last installation: %w", err)
	}
	record, err := install.ValuesObject(o)
	if err != nil {
		return err
	}
	installed := o
	installed.Values, _, _ = install.KeepValues(o.Values, earlier)
	objects, err := install.Manifests(installed.WithOptionalParts())
	if err != nil { // another version, which has other values, may have installed it
		objects, err = install.Manifests(o.WithOptionalParts())
	}
	if err != nil {
		return err
	}
	report := progressPrinter(c, "deleted")
	if err := install.Delete(ctx, kube, append(objects, record), !deleteCRDs, report); err != nil {
		return err
	}
	if deleteAuthority {
		return install.DeleteAuthority(ctx, kube, f.namespace, report)
	}
	if kept, err := install.HasAuthority(ctx, kube, f.namespace); err != nil || kept {
		c.Printf("Namespace %[1]s and its Secret %[2]s are kept: running sidecars trust this authority, and anymesh install "+
			"uses it again.\nanymesh uninstall --delete-authority deletes both.\n", f.namespace, identity.CASecret)
	}
	return nil
}

// progressPrinter prints one line per object.
func progressPrinter(c *cobra.Command, verb string) func(string) {
	return func(what string) { c.Println(strings.TrimSpace(verb + " " + what)) }
}
