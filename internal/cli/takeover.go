package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate"
	"anymesh.dev/anymesh/internal/fleet"
)

func importCommand(f *memberFlags) *cobra.Command {
	var from, fromContext string
	var output *format
	var dryRun bool
	c := &cobra.Command{
		Use:   "import --from FILE",
		Short: "Take over the Clusters and ResourceRegistries of a Karmada control plane",
		Long: "Take over the Clusters and ResourceRegistries of a Karmada control plane: read the Clusters of its API server,\n" +
			"their Secrets and its ResourceRegistries, and write them to the control plane. Nothing changes in Karmada, and\n" +
			"the command can be repeated. If the control plane is the Karmada API server itself, only the ResourceRegistries\n" +
			"are taken over: do so before the APIService of search.karmada.io points to the aggregator.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if from == "" {
				return exitError{2, fmt.Errorf("--from: the kubeconfig of the Karmada API server is required")}
			}
			taken, err := f.takeOver(c.Context(), from, fromContext, dryRun)
			if err != nil {
				return err
			}
			if err := printTaken(c.OutOrStdout(), taken, output); err != nil {
				return err
			}
			for _, t := range taken {
				if t.Result == fleet.Failed {
					return exitError{1, fmt.Errorf("%s %s is not taken over", t.Kind, t.Name)}
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", "", "kubeconfig file of the Karmada API server")
	c.Flags().StringVar(&fromContext, "from-context", "", "context of --from")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing, and print what would be written")
	output = addFormat(c, "table", "json")
	return c
}

func (f *memberFlags) takeOver(ctx context.Context, from, fromContext string, dryRun bool) ([]fleet.Taken, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	kinds := scheme.Scheme
	for _, add := range []func() error{
		func() error { return clusterv1.AddToScheme(kinds) }, func() error { return searchv1.AddStorageToScheme(kinds) },
	} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	fromConfig, _, err := clusterConfig(from, fromContext)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	source, err := client.New(fromConfig, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server of --from: %w", err)
	}
	config, _, err := clusterConfig(f.kubeconfig, f.context)
	if err != nil {
		return nil, err
	}
	if !dryRun {
		if err := aggregate.InstallCRDs(ctx, config); err != nil {
			return nil, err
		}
	}
	control, err := client.New(config, client.Options{Scheme: kinds})
	if err != nil {
		return nil, fmt.Errorf("connecting to the control plane: %w", err)
	}
	return fleet.TakeOver(ctx, source, control, dryRun)
}

func printTaken(to io.Writer, taken []fleet.Taken, output *format) error {
	if output.isJSON() {
		encoder := json.NewEncoder(to)
		encoder.SetIndent("", "  ")
		return encoder.Encode(append([]fleet.Taken{}, taken...)) // an empty list, and not null
	}
	w := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "KIND\tNAME\tRESULT\tNOTES")
	for _, t := range taken {
		notes := strings.ReplaceAll(strings.Join(t.Notes, "; "), "\n", " ")
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Kind, t.Name, t.Result, notes)
	}
	return w.Flush()
}
