package observe

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/pod/relay"
	"anymesh.dev/anymesh/test/freeport"
)

// filesPod is an Envoy with the relay of an agent, and its control plane. Its listener and the cluster of path /up have
// certificate and trust in files.
type filesPod struct {
	t         *testing.T
	dir       string
	port      uint16
	upstream  string
	authority *x509.Certificate
	files     *certificates
	server    *xds.Server
	stop      context.CancelFunc
	relay     *relay.Relay

	mu       sync.Mutex
	messages map[string]string // of the rejected resources, by name
}

func startFilesPod(t *testing.T, binary string) *filesPod {
	t.Helper()
	p := newFilesPod(t)
	p.write("a")
	p.publish("a", "a")
	p.start(binary)
	return p
}

// newFilesPod starts the servers of a pod.
func newFilesPod(t *testing.T) *filesPod {
	t.Helper()
	p := &filesPod{
		t: t, dir: t.TempDir(), port: uint16(freeport.Port(t)), messages: map[string]string{},
		files: &certificates{map[string]*x509.Certificate{}, map[string]*ecdsa.PrivateKey{}, map[string]tls.Certificate{}, 0},
	}
	issued, err := p.files.issue("/up/up.pem")
	if err != nil {
		t.Fatal(err)
	}
	p.authority = p.files.authorities["/up"]
	up, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{issued}})
	if err != nil {
		t.Fatal(err)
	}
	p.upstream = up.Addr().String()
	application := &http.Server{
		Handler:           http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() { _ = application.Serve(up) }() // until Close
	t.Cleanup(func() { _ = application.Close() })
	p.serveRelay()
	return p
}

// serveRelay starts the control plane, and the relay in front of it.
func (p *filesPod) serveRelay() {
	p.server = xds.NewServer(func(context.Context, xds.Peer, *corev3.Node) (xds.Grant, error) {
		return xds.Grant{Key: "k", Identity: "uid-1"}, nil
	}, xds.Options{Observer: p, Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(p.t.Context())
	served := make(chan struct{})
	go func() {
		_ = p.server.Serve(ctx, l)
		close(served)
	}()
	p.stop = func() { stop(); <-served }
	socket, err := relay.Listen(p.t.Context(), filepath.Join(p.dir, "xds.sock"), 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	p.relay = relay.New(func() (*grpc.ClientConn, error) {
		return grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	}, "web-1", slog.New(slog.DiscardHandler))
	relayed := make(chan struct{})
	go func() {
		_ = p.relay.Serve(p.t.Context(), socket)
		close(relayed)
	}()
	p.t.Cleanup(func() { p.stop(); <-relayed })
}

// stopControlPlane ends the streams; the relay cannot connect again.
func (p *filesPod) stopControlPlane() { p.stop() }

// start starts Envoy, and waits until it is ready.
func (p *filesPod) start(binary string) {
	p.t.Helper()
	startStatic(p.t, binary, fmt.Sprintf(`{
		"node": {"id": "n", "cluster": "c"},
		"dynamic_resources": {
			"lds_config": {"ads": {}, "resource_api_version": "V3"}, "cds_config": {"ads": {}, "resource_api_version": "V3"},
			"ads_config": {"api_type": "DELTA_GRPC", "transport_api_version": "V3", "grpc_services": [{"envoy_grpc": {
				"cluster_name": "anymesh",
				"retry_policy": {"retry_back_off": {"base_interval": "0.1s", "max_interval": "0.2s"}}
			}}]}
		},
		"static_resources": {
			"clusters": [{
				"name": "anymesh", "type": "STATIC", "typed_extension_protocol_options": {
					"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
						"@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
						"explicit_http_config": {"http2_protocol_options": {}}
					}
				},
				"load_assignment": {"cluster_name": "anymesh", "endpoints": [{"lb_endpoints": [{
					"endpoint": {"address": {"pipe": {"path": %q}}}
				}]}]}
			}]
		}
	}`, filepath.Join(p.dir, "xds.sock")), fmt.Sprintf("127.0.0.1:%d", p.port))
	p.relay.Started()
}

// publish publishes a listener with the certificate of one folder, and a cluster with the trust of another.
func (p *filesPod) publish(chain, trust string) {
	p.t.Helper()
	ads := `"sds_config": {"ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s"}`
	host, port, _ := net.SplitHostPort(p.upstream)
	chainName, trustName := "certificate_"+chain, "trust_"+trust
	var all []*xds.Resource
	for name, text := range map[string]string{
		"l": fmt.Sprintf(`{"@type": "type.googleapis.com/envoy.config.listener.v3.Listener", "name": "l",
			"address": {"socket_address": {"address": "127.0.0.1", "port_value": %d}},
			"filter_chains": [{
				"transport_socket": {"name": "tls", "typed_config": {
					"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
					"common_tls_context": {"tls_certificate_sds_secret_configs": [{"name": %q, %s}]}
				}},
				"filters": [{"name": "http", "typed_config": {
					"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
					"stat_prefix": "l",
					"route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"],
						"routes": [{"match": {"prefix": "/"}, "route": {"cluster": "up"}}]}]},
					"http_filters": [{"name": "router", "typed_config": {
						"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
					}}]
				}}]
			}]}`, p.port, chainName, ads),
		"up": fmt.Sprintf(`{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "up", "type": "STATIC",
			"load_assignment": {"cluster_name": "up", "endpoints": [{"lb_endpoints": [{"endpoint": {
				"address": {"socket_address": {"address": %q, "port_value": %s}}}}]}]},
			"transport_socket": {"name": "tls", "typed_config": {
				"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
				"common_tls_context": {"validation_context_sds_secret_config": {"name": %q, %s}}
			}}}`, host, port, trustName, ads),
		chainName: fmt.Sprintf(`{"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret", "name": %q,
			"tls_certificate": {"certificate_chain": {"filename": "%[2]s/chain.pem"},
				"private_key": {"filename": "%[2]s/key.pem"}, "watched_directory": {"path": %[2]q}}}`,
			chainName, filepath.Join(p.dir, chain)),
		trustName: fmt.Sprintf(`{"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret", "name": %q,
			"validation_context": {"trusted_ca": {"filename": "%[2]s/ca.pem"}, "watched_directory": {"path": %[2]q}}}`,
			trustName, filepath.Join(p.dir, trust)),
	} {
		var body anypb.Any
		if err := protojson.Unmarshal([]byte(text), &body); err != nil {
			p.t.Fatal(err)
		}
		r, err := xds.EncodedResource(body.TypeUrl, name, body.Value)
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, r)
	}
	snapshot, err := xds.NewSnapshot(all...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server.Publish("k", snapshot, time.Time{})
}
