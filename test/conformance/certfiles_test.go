package conformance

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
)

// TestCertificateFiles changes a listener and a cluster to files that the pod does not have yet. The Envoy serves with
// what it has until the files are there, and after they are gone or invalid. The control plane is told. Envoy watches no
// files.
func TestCertificateFiles(t *testing.T) {
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := startFilesPod(t, binary)
			first := p.serves("the first certificate", "")
			if n := p.inotifyInstances(); n != 0 {
				t.Errorf("Envoy has %d instances of inotify", n)
			}
			p.publish("b", "b")
			p.told("the files are missing", "pod web-1: open "+p.dir+"/b/")
			p.keeps(first)
			p.write("b")
			second := p.serves("the certificate that was missing", first)
			p.told("the files are there", "")

			if err := os.Remove(filepath.Join(p.dir, "b", "chain.pem")); err != nil {
				t.Fatal(err)
			}
			p.told("a file is gone", "chain.pem: no such file")
			p.keeps(second)
			p.writeFile("b/chain.pem", []byte("no certificate"))
			p.writeFile("b/ca.pem", []byte("no certificate"))
			p.told("a file is invalid", "chain.pem with")
			p.told("a file is invalid", "ca.pem has no certificate")
			p.keeps(second)
			p.write("b")
			third := p.serves("the replaced certificate", second)
			p.told("the files are valid", "")

			p.stopControlPlane()
			p.write("b")
			p.serves("the certificate that was replaced without a control plane", third)
		})
	}
}

// TestMissingCertificateFilesAtStart starts an Envoy without the files of its listener: it is ready, and serves when the
// files are there.
func TestMissingCertificateFilesAtStart(t *testing.T) {
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newFilesPod(t)
			p.write("a")
			p.publish("b", "b")
			p.start(binary)
			p.told("the files are missing", "no such file")
			p.write("b")
			p.serves("the certificate that was missing", "")
			p.told("the files are there", "")
		})
	}
}

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
		t: t, dir: t.TempDir(), port: freePorts(t, 1)[0], messages: map[string]string{},
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
	socket, err := relay.Listen(p.t.Context(), filepath.Join(p.dir, "xds.sock"))
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

// write writes a new certificate and its key into a folder, and the trust in the upstream server.
func (p *filesPod) write(folder string) {
	p.t.Helper()
	p.files.issued = map[string]tls.Certificate{}
	issued, err := p.files.issue("/" + folder + "/own.pem")
	if err != nil {
		p.t.Fatal(err)
	}
	chain, key, err := encodePair(issued)
	if err != nil {
		p.t.Fatal(err)
	}
	p.writeFile(folder+"/key.pem", key)
	p.writeFile(folder+"/chain.pem", chain)
	p.writeFile(folder+"/ca.pem", encode("CERTIFICATE", p.authority.Raw))
}

func (p *filesPod) writeFile(name string, content []byte) {
	p.t.Helper()
	if err := writeFile(filepath.Join(p.dir, name), content); err != nil {
		p.t.Fatal(err)
	}
}

// request returns the serial number of the certificate of the listener.
func (p *filesPod) request() (serial string, err error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the test looks at the certificate
	}}
	response, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/", p.port))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, text)
	}
	return response.TLS.PeerCertificates[0].SerialNumber.String(), nil
}

// serves waits until requests succeed with another certificate than the one before. Meanwhile, none may fail, unless
// there was none before.
func (p *filesPod) serves(what, before string) string {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		serial, err := p.request()
		switch {
		case err == nil && serial != before:
			return serial
		case err != nil && before != "":
			p.t.Fatalf("%s: %v", what, err)
		case time.Now().After(end):
			p.t.Fatalf("%s is not served: certificate %s, error %v", what, serial, err)
		}
	}
}

// keeps fails the test unless requests succeed with a certificate.
func (p *filesPod) keeps(serial string) {
	p.t.Helper()
	for range 20 {
		if got, err := p.request(); err != nil || got != serial {
			p.t.Fatalf("got certificate %s, error %v; want certificate %s", got, err, serial)
		}
	}
}

// told waits until the control plane knows a problem; empty for none.
func (p *filesPod) told(what, problem string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		known := slices.Collect(maps.Values(p.messages))
		p.mu.Unlock()
		if problem == "" && len(known) == 0 || problem != "" && strings.Contains(strings.Join(known, "\n"), problem) {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: the control plane knows %q, want %q", what, known, problem)
		}
	}
}

// inotifyInstances counts those of Envoy, whose configuration is in a folder of the test.
func (p *filesPod) inotifyInstances() (n int) {
	p.t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.t.Fatal(err)
	}
	found := false
	for _, process := range processes {
		command, err := os.ReadFile(process)
		if err != nil || !bytes.Contains(command, []byte(filepath.Dir(p.dir)+"/")) {
			continue
		}
		files, err := filepath.Glob(filepath.Dir(process) + "/fd/*")
		if err != nil {
			p.t.Fatal(err)
		}
		for _, file := range files {
			found = true
			if target, err := os.Readlink(file); err == nil && strings.Contains(target, "inotify") {
				n++
			}
		}
	}
	if !found {
		p.t.Fatal("the process of Envoy is not found")
	}
	return n
}

// Connected implements xds.Observer.
func (p *filesPod) Connected(string) {}

// Disconnected implements xds.Observer.
func (p *filesPod) Disconnected(string, string) { p.note(nil, "") }

// Acked implements xds.Observer.
func (p *filesPod) Acked(_, _, typeURL, _ string) {
	if strings.HasSuffix(typeURL, "Secret") {
		p.note(nil, "")
	}
}

// Nacked implements xds.Observer.
func (p *filesPod) Nacked(_, _, _ string, rejected map[string]string, message string) {
	p.note(rejected, message)
}

func (p *filesPod) note(rejected map[string]string, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rejected == nil {
		clear(p.messages)
	}
	for name := range rejected {
		p.messages[name] = message
	}
}
