package agent

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/spf13/cobra"
)

// drainCommand is "anymesh agent drain". Kubelet runs it in the sidecar container when the pod terminates.
func drainCommand() *cobra.Command {
	var socket, path string
	cmd := &cobra.Command{
		Use:   "drain --socket FILE --path PATH",
		Short: "Drain the proxy when the pod terminates",
		Long:  "Sends an empty POST to the admin interface of the proxy. The proxy then asks clients to close connections, and still serves them.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return drain(cmd.Context(), socket, path)
		},
	}
	cmd.Flags().StringVar(&socket, "socket", "", "Unix socket of the proxy's admin interface")
	cmd.Flags().StringVar(&path, "path", "", "path of the POST request")
	for _, name := range []string{"socket", "path"} {
		_ = cmd.MarkFlagRequired(name) // only fails for an unknown flag
	}
	return cmd
}

func drain(ctx context.Context, socket, path string) error {
	if err := post(ctx, socket, path); err != nil {
		return fmt.Errorf("agent: drain: %w", err)
	}
	return nil
}

// refusedError is the response of a proxy that refuses a request.
type refusedError struct{ path, status string }

func (e refusedError) Error() string { return e.path + " returned " + e.status }

// post sends an empty POST to the admin interface of the proxy on a Unix socket.
func post(ctx context.Context, socket, target string) error {
	client := localClient()
	client.Transport = &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://proxy"+target, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusedError{target, response.Status}
	}
	return nil
}
