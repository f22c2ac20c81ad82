package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
)

// sendTimeoutCluster is the cluster of the case default-backend with a send timeout of 1 s.
const sendTimeoutCluster = "cds_egress_ingress_a_up:80_send-1s"

// TestSendTimeout checks the send timeout of a cluster, as the driver renders it, with a backend that does not read,
// and with one that responds after a longer pause.
func TestSendTimeout(t *testing.T) {
	binary, err := FindEnvoy("../..")
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
			url := startCluster(t, path, backend.Addr().(*net.TCPAddr).AddrPort().Port())
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
		})
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
	port := freePorts(t, 1)[0]
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
