package observe

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/test/freeport"
)

// sendTimeoutCluster is the cluster of the case default-backend with a send timeout of 1 s.
const sendTimeoutCluster = "cds_egress_ingress_a_up:80_send-1s"

// TestSendTimeout checks the send timeout of a cluster, as the driver renders it, with a backend that does not read,
// and with one that responds after a longer pause.
func TestSendTimeout(t *testing.T) {
	binary, err := findEnvoy("../..")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	backend, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	go serveSlowly(backend)
	for _, version := range []string{"envoy", oldestEnvoy} {
		t.Run(version, func(t *testing.T) {
			path := filepath.Join(filepath.Dir(binary), version)
			if _, err := os.Stat(path); err != nil {
				t.Skip(err)
			}
			checkSendTimeout(t, startCluster(t, path, backend.Addr().(*net.TCPAddr).AddrPort().Port()))
		})
	}
	t.Run(native.Name, func(t *testing.T) {
		checkSendTimeout(t, startNativeCluster(t, backend.Addr().(*net.TCPAddr).Port))
	})
}

func checkSendTimeout(t *testing.T, url string) {
	t.Helper()
	start := time.Now()
	r, err := http.Post(url+"/deaf", "", bytes.NewReader(make([]byte, 32<<20)))
	if err != nil && !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") ||
		err == nil && r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a backend that does not read: got %v, %v; want status 503, or a reset", r, err)
	}
	if took := time.Since(start); took < time.Second || took > 5*time.Second {
		t.Errorf("a backend that does not read: after %v; want a little more than 1 s", took)
	}
	r, err = http.Post(url+"/late", "", strings.NewReader("x"))
	if err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("a backend that responds after 2.5 s: got %v, %v; want status 200", r, err)
	}
}

// serveSlowly serves connections: it reads the first bytes of a request only, or all and responds after 2.5 s.
func serveSlowly(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			head := make([]byte, 256)
			n, _ := c.Read(head)
			if strings.Contains(string(head[:n]), "/deaf") {
				time.Sleep(10 * time.Second)
				return
			}
			time.Sleep(2500 * time.Millisecond)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}()
	}
}

// startCluster starts Envoy with a listener that sends all requests to the cluster, whose endpoint is a port of this
// machine, and returns the URL of the listener.
func startCluster(t *testing.T, binary string, backend uint16) string {
	t.Helper()
	port := uint16(freeport.Port(t))
	cluster := renderedResource[*clusterv3.Cluster](t, "ingress/default-backend", "gateway", sendTimeoutCluster)
	startStatic(t, binary, fmt.Sprintf(`{"static_resources": {"clusters": [%s], "listeners": [{
		"address": {"socket_address": {"address": "127.0.0.1", "port_value": %d}},
		"filter_chains": [{"filters": [{"name": "http", "typed_config": {
			"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
			"stat_prefix": "x",
			"http_filters": [{"name": "router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}],
			"route_config": {"virtual_hosts": [{"name": "x", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": %q}}]}]}
		}}]}]}]}}`, staticCluster(t, cluster, backend), port, sendTimeoutCluster), fmt.Sprintf("127.0.0.1:%d", port))
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// startNativeCluster is startCluster for our proxy.
func startNativeCluster(t *testing.T, backend int) string {
	t.Helper()
	c := &config.Config{}
	for key, resources := range readCase(t, "ingress/default-backend").translate(native.Name, native.Driver{}, "").Rendered {
		for _, r := range resources {
			if key.Name != "gateway" || r.Name != "cluster/a/up:80/send-1s" {
				continue
			}
			value, err := config.ParseYAML(r.Body)
			if err == nil {
				err = config.Decode("", value, c)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(c.Clusters) != 1 {
		t.Fatalf("got clusters %v, want one", c.Clusters)
	}
	c.Clusters[0].Endpoints = []config.Endpoint{{Spec: config.EndpointSpec{Address: "127.0.0.1", Port: backend}}}
	port := uint16(freeport.Port(t))
	to := &config.Route{Destination: config.ClusterRef{Name: c.Clusters[0].Name}}
	c.Listeners = []config.Listener{{
		Name: "in", Spec: config.ListenerSpec{Protocol: config.HTTP, Port: int(port), Address: "127.0.0.1"},
		Rules: config.RulesRef{Inline: []config.RuleRef{{Inline: &config.Rule{
			Action: config.Action{Route: &config.RouteRef{Inline: to}},
		}}}},
	}}
	if err := proxy.New(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil))).Replace(c); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}
