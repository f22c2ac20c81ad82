package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/fleet"
)

// memberFlags are the flags of the verbs for member clusters.
type memberFlags struct {
	kubeconfig, context, memberConfig, memberContext string

	timeout time.Duration
}

func memberCommand() *cobra.Command {
	var f memberFlags
	c := &cobra.Command{Use: "cluster", Short: "Join, import and list member clusters"}
	c.PersistentFlags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the control plane")
	c.PersistentFlags().StringVar(&f.context, "context", "", "kubeconfig context of the control plane; the current context if empty")
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
				was, err := fleet.Leave(ctx, control, member, args[0])
				switch {
				case err != nil:
					return err
				case was:
					c.Printf("Cluster %s has left.\n", args[0])
				default:
					c.Printf("Cluster %s is not a member: there is no Cluster of this name.\n", args[0])
				}
				return nil
			})
		},
	}
	f.addMember(c)
	return c
}

func listCommand(f *memberFlags) *cobra.Command {
	var output *format
	c := &cobra.Command{
		Use:   "list",
		Short: "List the member clusters",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), func(ctx context.Context, control, _ client.Client, _ *rest.Config) error {
				var all clusterv1.ClusterList
				if err := control.List(ctx, &all); err != nil {
					return fmt.Errorf("listing Clusters: %w", err)
				}
				members := describeMembers(all.Items)
				out := c.OutOrStdout()
				if output.isJSON() {
					return terminal.JSON(out, members)
				}
				style := terminal.StyleFor(out)
				t := terminal.Table{Headings: []string{"NAME", "VERSION", "READY", "ENDPOINT", "MESSAGE"}}
				for _, m := range members {
					t.Row(style.Cyan(m.Name), m.Version, m.Ready, m.Endpoint, m.Message)
				}
				return t.Write(out, style)
			})
		},
	}
	output = addFormat(c, "table", "json")
	return c
}

// memberStatus is a member cluster in the output of "cluster list".
type memberStatus struct {
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Ready    string `json:"ready"`
	Endpoint string `json:"endpoint"`
	Message  string `json:"message,omitempty"`
}

func describeMembers(all []clusterv1.Cluster) []memberStatus {
	out := []memberStatus{}
	for _, c := range all {
		m := memberStatus{Name: c.Name, Version: c.Status.KubernetesVersion, Ready: "Unknown", Endpoint: c.Spec.APIEndpoint}
		if r := meta.FindStatusCondition(c.Status.Conditions, clusterv1.ConditionReady); r != nil {
			m.Ready, m.Message = string(r.Status), strings.ReplaceAll(r.Message, "\n", " ")
		}
		out = append(out, m)
	}
	return out
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
	config, _, err := clusterConfig(f.kubeconfig, f.context)
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
