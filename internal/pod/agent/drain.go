package agent

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/spf13/cobra"
)

// drainCommand is "anymesh agent drain", which kubelet runs in the sidecar's container when the pod is told to stop.
func drainCommand() *cobra.Command {
	var socket, path string
	cmd := &cobra.Command{
		Use:   "drain --socket FILE --path PATH",
		Short: "Tell the proxy that the pod begins to stop",
		Long:  "Sends an empty POST to the proxy's admin interface, so that it asks callers to leave while it still serves them.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return drain(cmd.Context(), socket, path)
		},
	}
	cmd.Flags().StringVar(&socket, "socket", "", "socket file of the proxy's admin interface")
	cmd.Flags().StringVar(&path, "path", "", "what to POST to there")
	for _, name := range []string{"socket", "path"} {
		_ = cmd.MarkFlagRequired(name) // it only fails for a flag that is not there
	}
	return cmd
}

func drain(ctx context.Context, socket, path string) error {
	client := localClient()
	client.Transport = &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://proxy"+path, nil)
	if err != nil {
		return fmt.Errorf("agent: drain: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("agent: drain: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("agent: drain: %s answers %s", path, response.Status)
	}
	return nil
}
