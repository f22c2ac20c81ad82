package observe

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"anymesh.dev/anymesh/test/freeport"
)

// TestRequestsOfOneConnectionAreSpread sends requests on one HTTP/2 connection, as a gRPC channel does: they reach both
// pods of the Service.
func TestRequestsOfOneConnectionAreSpread(t *testing.T) {
	const outbound = "cds_egress_m_reader_demo_http2_8080"
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var pods []uint16
			for range 2 {
				pod := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
				}))
				pod.Config.Protocols = &protocols
				pod.Start()
				t.Cleanup(pod.Close)
				pods = append(pods, uint16(pod.Listener.Addr().(*net.TCPAddr).Port))
			}
			port := uint16(freeport.Port(t))
			address := fmt.Sprintf("127.0.0.1:%d", port)
			egress := renderedResource[*listenerv3.Listener](t, "appmesh/http2", "front_demo", "lds_egress_0.0.0.0_15001")
			cluster := renderedResource[*clusterv3.Cluster](t, "appmesh/http2", "front_demo", outbound)
			startStatic(t, binary, fmt.Sprintf(`{"static_resources": {"clusters": [%s], "listeners": [%s]}}`,
				staticCluster(t, cluster, pods...), staticListener(t, egress, outbound, port)), address)

			dialed, answered := 0, map[string]int{}
			transport := &http.Transport{Protocols: &protocols, Dial: func(network, address string) (net.Conn, error) {
				dialed++
				return net.Dial(network, address)
			}}
			t.Cleanup(transport.CloseIdleConnections)
			for range 30 {
				response, err := (&http.Client{Transport: transport}).Get("http://" + address)
				if err != nil {
					t.Fatal(err)
				}
				pod, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK {
					t.Fatalf("status %d, %v", response.StatusCode, err)
				}
				answered[string(pod)]++
			}
			if dialed != 1 || len(answered) != 2 {
				t.Errorf("requests on %d connections were answered by %v", dialed, answered)
			}
		})
	}
}
