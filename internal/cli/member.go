package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate"
	"anymesh.dev/anymesh/internal/fleet"
)

// memberFlags are the flags of the verbs for member clusters.
type memberFlags struct {
	kubeconfig, memberConfig, memberContext string
	timeout                                 time.Duration
}

func memberCommand() *cobra.Command {
	var f memberFlags
	c := &cobra.Command{Use: "cluster", Short: "Join, import and list member clusters"}
	c.PersistentFlags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the control plane")
	c.PersistentFlags().DurationVar(&f.timeout, "timeout", time.Minute, "maximum time to wait for the clusters")
	c.AddCommand(joinCommand(&f), leaveCommand(&f), listCommand(&f), importCommand(&f))
	return c
}

func joinCommand(f *memberFlags) *cobra.Command {
	var labels map[string]string
	var endpoint string
	c := &cobra.Command{
		Use:   "join NAME --member-kubeconfig FILE",
		Short: "Join a cluster: create service accounts in it, and a Cluster in the control plane",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if f.memberConfig == "" {
				return exitError{2, fmt.Errorf("--member-kubeconfig: the kubeconfig of the cluster is required")}
			}
			return f.run(c.Context(), func(ctx context.Context, control, member client.Client, config *rest.Config) error {
				if endpoint != "" {
					config = rest.CopyConfig(config)
					config.Host = endpoint
				}
				if err := fleet.Join(ctx, control, member, config, args[0], labels); err != nil {
					return err
				}
				c.Printf("Cluster %s is a member.\n", args[0])
				return nil
			})
		},
	}
	f.addMember(c)
	c.Flags().StringVar(&endpoint, "endpoint", "",
		"URL of the cluster's API server for the aggregator; that of --member-kubeconfig if empty")
	c.Flags().StringToStringVar(&labels, "labels", nil, "labels of the Cluster")
	return c
}

func leaveCommand(f *memberFlags) *cobra.Command {
	c := &cobra.Command{
		Use:   "leave NAME",
		Short: "Remove a cluster from the members; with --member-kubeconfig, also the service accounts in it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), func(ctx context.Context, control, member client.Client, _ *rest.Config) error {
				if err := fleet.Leave(ctx, control, member, args[0]); err != nil {
					return err
				}
				c.Printf("Cluster %s is not a member.\n", args[0])
				return nil
			})
		},
	}
	f.addMember(c)
	return c
}

func listCommand(f *memberFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the member clusters",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), func(ctx context.Context, control, _ client.Client, _ *rest.Config) error {
				var all clusterv1.ClusterList
				if err := control.List(ctx, &all); err != nil {
					return fmt.Errorf("listing Clusters: %w", err)
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 3, ' ', 0)
				_, _ = fmt.Fprintln(w, "NAME\tVERSION\tREADY\tENDPOINT\tMESSAGE")
				for _, m := range all.Items {
					ready, message := "Unknown", ""
					if r := meta.FindStatusCondition(m.Status.Conditions, clusterv1.ConditionReady); r != nil {
						ready, message = string(r.Status), strings.ReplaceAll(r.Message, "\n", " ")
					}
					_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Name, m.Status.KubernetesVersion, ready,
						m.Spec.APIEndpoint, message)
				}
				return w.Flush()
			})
		},
	}
}

func (f *memberFlags) addMember(c *cobra.Command) {
	c.Flags().StringVar(&f.memberConfig, "member-kubeconfig", "", "kubeconfig file of the member cluster")
	c.Flags().StringVar(&f.memberContext, "member-context", "", "context of --member-kubeconfig")
}

// run connects to the control plane, and to the member if its kubeconfig is set.
func (f *memberFlags) run(
	ctx context.Context, do func(ctx context.Context, control, member client.Client, config *rest.Config) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	kinds := scheme.Scheme
	if err := clusterv1.AddToScheme(kinds); err != nil {
		return err
	}
	config, err := restConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	if err := aggregate.InstallCRDs(ctx, config); err != nil {
		return err
	}
	control, err := client.New(config, client.Options{Scheme: kinds})
	if err != nil {
		return fmt.Errorf("connecting to the control plane: %w", err)
	}
	if f.memberConfig == "" {
		return do(ctx, control, nil, nil)
	}
	memberConfig, _, err := clusterConfig(f.memberConfig, f.memberContext)
	if err != nil {
		return fmt.Errorf("--member-kubeconfig: %w", err)
	}
	if err := rest.LoadTLSFiles(memberConfig); err != nil {
		return fmt.Errorf("--member-kubeconfig: %w", err)
	}
	member, err := client.New(memberConfig, client.Options{Scheme: kinds})
	if err != nil {
		return fmt.Errorf("connecting to the member cluster: %w", err)
	}
	return do(ctx, control, member, memberConfig)
}
