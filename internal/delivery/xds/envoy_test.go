package xds

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/freeport"
)

// findEnvoy searches for a version of Envoy in PATH, $ANYMESH_BIN and the bin folder of the repository.
func findEnvoy(t *testing.T, binary string) string {
	t.Helper()
	if path, err := exec.LookPath(binary); err == nil {
		return path
	}
	for _, dir := range []string{os.Getenv("ANYMESH_BIN"), filepath.Join("..", "..", "..", "bin")} {
		if info, err := os.Stat(filepath.Join(dir, binary)); dir != "" && err == nil && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, binary)
		}
	}
	t.Skipf("no %s in PATH, $ANYMESH_BIN or bin; run `make envoy`", binary)
	return ""
}

// startEnvoy runs Envoy with a bootstrap that contains only the xDS server, over mutual TLS.
func (r *testServer) startEnvoy(t *testing.T, binary, apiType string) (admin string) {
	t.Helper()
	certificate, key, root := r.files(t, r.ca.leaf(t, "sidecar", time.Hour))
	admin = freeport.Address(t)
	serverHost, serverPort, _ := net.SplitHostPort(r.addr)
	adminHost, adminPort, _ := net.SplitHostPort(admin)
	ads := map[string]any{"ads": map[string]any{}, "resource_api_version": "V3"}
	config, err := json.Marshal(map[string]any{
		"node":  map[string]any{"id": "sidecar", "cluster": "test"},
		"admin": map[string]any{"address": socketAddress(adminHost, adminPort)},
		"dynamic_resources": map[string]any{
			"lds_config": ads, "cds_config": ads,
			"ads_config": map[string]any{
				"api_type": apiType, "transport_api_version": "V3", "set_node_on_first_message_only": true,
				"grpc_services": []any{map[string]any{"envoy_grpc": map[string]any{"cluster_name": "anymesh"}}},
			},
		},
		"static_resources": map[string]any{"clusters": []any{map[string]any{
			"name": "anymesh", "type": "STATIC", "connect_timeout": "5s",
			"typed_extension_protocol_options": map[string]any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": map[string]any{
				"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
				"explicit_http_config": map[string]any{"http2_protocol_options": map[string]any{}},
			}},
			"load_assignment": map[string]any{"cluster_name": "anymesh",
				"endpoints": []any{map[string]any{"lb_endpoints": []any{map[string]any{
					"endpoint": map[string]any{"address": socketAddress(serverHost, serverPort)},
				}}}}},
			"transport_socket": map[string]any{"name": "tls", "typed_config": map[string]any{
				"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
				"common_tls_context": map[string]any{
					"tls_certificates": []any{map[string]any{
						"certificate_chain": map[string]any{"filename": certificate},
						"private_key":       map[string]any{"filename": key},
					}},
					"validation_context": map[string]any{"trusted_ca": map[string]any{"filename": root}},
				},
			}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "envoy.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "envoy.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "--config-path", file, "--concurrency", "1",
		"--use-dynamic-base-id", "--log-level", "warning")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("log of Envoy:\n%s", text)
		}
	})
	return admin
}

func socketAddress(host, port string) any {
	return map[string]any{"socket_address": map[string]any{"address": host, "port_value": json.Number(port)}}
}

// httpGet returns the body of a 200 response.
func httpGet(url string) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return string(body), err
}

func startWeb(t *testing.T, says string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, says) })}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { s.Close(); <-done })
	return l.Addr().String()
}

// TestEnvoy runs the oldest and the newest supported Envoy with both protocol variants, over mutual TLS. Each becomes
// ready, serves requests, applies every kind of change without a failed request, NACKs an invalid route and keeps
// serving, and removes what is removed.
func TestEnvoy(t *testing.T) {
	for _, binary := range []string{"envoy-1.36", "envoy"} {
		for _, apiType := range []string{"DELTA_GRPC", "GRPC"} {
			t.Run(binary+" "+apiType, func(t *testing.T) { followsChanges(t, findEnvoy(t, binary), apiType) })
		}
	}
}

func followsChanges(t *testing.T, binary, apiType string) {
	h := &recordingObserver{}
	r := startServer(t, authorizeByCommonName, Options{Observer: h})
	one, two, address := startWeb(t, "one"), startWeb(t, "two"), freeport.Address(t)
	listener := greeterListener(t, address)
	var all *Shared
	publish := func(cluster *Resource, endpoints string) {
		all = shared(t, greeterRoute(t, cluster.Name), cluster, greeterEndpoints(t, cluster.Name, endpoints))
		s, err := all.With(listener)
		if err != nil {
			t.Fatal(err)
		}
		r.Publish("sidecar", s, time.Time{})
	}
	publish(greeterCluster(t, "a", time.Second), one)
	admin := r.startEnvoy(t, binary, apiType)
	eventually(t, "Envoy is ready", func() bool {
		body, err := httpGet("http://" + admin +
			"/ready")
		return err == nil && body == "LIVE\n"
	})
	served := false
	reaches := func(what, want string) {
		t.Helper()
		eventually(t, what, func() bool {
			got, err := httpGet("http://" + address)
			if served && err != nil {
				t.Fatalf("%s: a request failed: %v %s", what, err, got)
			}
			return err == nil && got == want
		})
		served = true
	}
	reaches("the first request", "one")
	r.Update(all, &Update{Changed: []*Resource{greeterEndpoints(t, "a", two)}}, time.Time{})
	reaches("other endpoints", "two")
	publish(greeterCluster(t, "a", 2*time.Second), two)
	publish(greeterCluster(t, "b", time.Second), one)
	reaches("another cluster, after the first one changed", "one")

	bad := resource(t, "greeter-route", invalidRoute())
	r.Update(all, &Update{Changed: []*Resource{bad}}, time.Time{})
	eventually(t, "Envoy NACKs the route", func() bool {
		all := strings.Join(h.list(), "\n")
		return strings.Contains(all, `nack sidecar route ["greeter-route"]`)
	})
	reaches("an invalid route changes nothing", "one")
	publish(greeterCluster(t, "b", time.Second), two)
	reaches("corrected route", "two")
	r.Publish("sidecar", snapshot(t), time.Time{})
	eventually(t, "all resources are removed", func() bool {
		body, err := httpGet("http://" + admin + "/config_dump?resource=dynamic_active_clusters")
		_, refused := net.DialTimeout("tcp", address, time.Second)
		return err == nil && !strings.Contains(body, `"b"`) && refused != nil
	})
}
