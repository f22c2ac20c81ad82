package observe

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"anymesh.dev/anymesh/test/freeport"
)

// TestRequestsPerConnection sends requests on one connection to a Service with maxRequestsPerConnection 1: each has a
// connection of its own to the application.
func TestRequestsPerConnection(t *testing.T) {
	const application = "cds_ingress_osm_shop/api_http_8080"
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, r.RemoteAddr)
			}))
			t.Cleanup(app.Close)
			var to uint16
			if _, err := fmt.Sscanf(app.URL, "http://127.0.0.1:%d", &to); err != nil {
				t.Fatal(err)
			}
			port := uint16(freeport.Port(t))
			listener := renderedResource[*listenerv3.Listener](t, "osm/limits", "shop/api", "lds_ingress_0.0.0.0_15000")
			cluster := renderedResource[*clusterv3.Cluster](t, "osm/limits", "shop/api", application)
			address := fmt.Sprintf("127.0.0.1:%d", port)
			startStatic(t, binary, fmt.Sprintf(`{"static_resources": {"clusters": [%s], "listeners": [%s]}}`,
				staticCluster(t, cluster, to), staticListener(t, listener, application, port)), address)
			connections := map[string]bool{}
			const requests = 5
			for range requests {
				response, err := http.Get("http://" + address)
				if err != nil {
					t.Fatal(err)
				}
				from, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK {
					t.Fatalf("status %d, %v", response.StatusCode, err)
				}
				connections[string(from)] = true
			}
			if len(connections) != requests {
				t.Errorf("%d requests reached the application on %d connections", requests, len(connections))
			}
		})
	}
}
