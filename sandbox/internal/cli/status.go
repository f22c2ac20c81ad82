package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"anymesh.dev/anymesh/sandbox/internal/lab"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// Report is the JSON output of status and up.
type Report struct {
	Name           string          `json:"name"`
	Dir            string          `json:"dir"`
	Phase          lab.Phase       `json:"phase"`
	Message        string          `json:"message,omitempty"`
	PID            int             `json:"pid"`
	UserNamespace  bool            `json:"userNamespace"`
	Kubernetes     string          `json:"kubernetes"`
	ReadyInSeconds float64         `json:"readyInSeconds,omitempty"`
	Clusters       []ClusterReport `json:"clusters"`
}

// ClusterReport is the part of Report for one cluster.
type ClusterReport struct {
	Name             string   `json:"name"`
	Kubeconfig       string   `json:"kubeconfig"`
	InsideKubeconfig string   `json:"insideKubeconfig"`
	Server           string   `json:"server"`
	InsideServer     string   `json:"insideServer"`
	Node             string   `json:"node"`
	NodeIPs          []string `json:"nodeIPs"`
	PodRanges        []string `json:"podRanges"`
	ServiceRanges    []string `json:"serviceRanges"`
	API              string   `json:"api,omitempty"` // "ok" or an error; only in status
}

func report(s lab.State) Report {
	l := s.Lab
	r := Report{
		Name: l.Name, Dir: l.Dir, Phase: s.Phase, Message: s.Message, PID: s.PID, UserNamespace: l.UserNS,
		Kubernetes: plan.KubernetesVersion, ReadyInSeconds: s.ReadyIn,
	}
	for _, c := range l.Clusters {
		r.Clusters = append(r.Clusters, ClusterReport{
			Name: c.Name, Kubeconfig: l.Kubeconfig(c), InsideKubeconfig: l.InsideKubeconfig(c),
			Server: fmt.Sprintf("https://127.0.0.1:%d", c.HostPort), InsideServer: fmt.Sprintf("https://%s:%d", c.Node4, plan.APIPort),
			Node: c.NodeName(), NodeIPs: []string{c.Node4.String(), c.Node6.String()},
			PodRanges:     []string{c.Pods4.String(), c.Pods6.String()},
			ServiceRanges: []string{c.Services4.String(), c.Services6.String()},
		})
	}
	return r
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func printTable(w io.Writer, r Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "CLUSTER\tAPI\tPODS\tSERVICES\tKUBECONFIG\n")
	for _, c := range r.Clusters {
		api := c.Server
		if c.API != "" && c.API != "ok" {
			api += " (" + c.API + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", c.Name, api, c.PodRanges[0], c.ServiceRanges[0], c.Kubeconfig)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.ReadyInSeconds > 0 {
		_, err := fmt.Fprintf(w, "\nReady in %.1f s. Kubernetes %s.\n", r.ReadyInSeconds, r.Kubernetes)
		return err
	}
	return nil
}

func statusCommand(p *place) *cobra.Command {
	output := "text"
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state and the addresses of the clusters",
		Long:  "Shows the state and the addresses of the clusters. The exit status is 0 only if all clusters are ready.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := p.folder()
			if err != nil {
				return err
			}
			s, err := lab.Read(dir)
			if err != nil {
				return err
			}
			r := report(s)
			if s.Phase == lab.Ready {
				for i := range r.Clusters {
					r.Clusters[i].API = askAPI(cmd.Context(), r.Clusters[i].Kubeconfig)
				}
			}
			if output == "json" {
				err = printJSON(os.Stdout, r)
			} else {
				fmt.Printf("sandbox %q: %s %s\n", r.Name, r.Phase, r.Message)
				err = printTable(os.Stdout, r)
			}
			if err == nil && s.Phase != lab.Ready {
				return exitStatus(1)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&output, "output", "text", "text or json")
	return cmd
}

func askAPI(ctx context.Context, kubeconfig string) string {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err.Error()
	}
	cfg.Timeout = 2 * time.Second
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err.Error()
	}
	if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return err.Error()
	}
	return "ok"
}
