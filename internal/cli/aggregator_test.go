package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// A server that gets SIGTERM while it reads from the API server has not failed.
func TestAggregatorEndsDuringTheStart(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stop()
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	var output bytes.Buffer
	code := Run(ctx, []string{"aggregator", "--kubeconfig", kubeconfigOf(t, server), "--address", "127.0.0.1:0", "--metrics-address", "",
		"--log-level", "error"}, nil, &output, &output)
	if code != 0 || output.String() != "" {
		t.Errorf("got exit code %d and output %q, want 0 and none", code, output.String())
	}
}

// kubeconfigOf writes a kubeconfig file for an API server.
func kubeconfigOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{Server: server.URL}
	config.Contexts["c"] = &api.Context{Cluster: "c"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}
