package observe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"anymesh.dev/anymesh/test/freeport"
)

// TestServerHeader checks what docs/migration.md says: responses have the header "server" of the application, or none,
// also those of Envoy itself.
func TestServerHeader(t *testing.T) {
	const application = "cds_ingress_shop_red_shop_http_8080"
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/named" {
					w.Header().Set("Server", "application")
				}
			}))
			t.Cleanup(app.Close)
			var to uint16
			if _, err := fmt.Sscanf(app.URL, "http://127.0.0.1:%d", &to); err != nil {
				t.Fatal(err)
			}
			port := uint16(freeport.Port(t))
			listener := renderedResource[*listenerv3.Listener](t, "appmesh/colors", "red_shop", "lds_ingress_0.0.0.0_15000")
			cluster := renderedResource[*clusterv3.Cluster](t, "appmesh/colors", "red_shop", application)
			address := fmt.Sprintf("127.0.0.1:%d", port)
			startStatic(t, binary, fmt.Sprintf(`{"static_resources": {"clusters": [%s], "listeners": [%s]}}`,
				staticCluster(t, cluster, to), staticListener(t, listener, application, port)), address)
			check := func(path string, status int, want []string) {
				t.Helper()
				response, err := http.Get("http://" + address + path)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if got := response.Header["Server"]; response.StatusCode != status || !slices.Equal(got, want) {
					t.Errorf("GET %s: status %d with server %q, want %d with %q", path, response.StatusCode, got, status, want)
				}
			}
			check("/named", http.StatusOK, []string{"application"})
			check("/", http.StatusOK, nil)
			app.Close()
			check("/", http.StatusServiceUnavailable, nil)
		})
	}
}
