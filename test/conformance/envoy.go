package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/driver/envoy"
	grpcdriver "anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/internal/pod/relay"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// streams is the number of streams that a sidecar may open.
const streams = 200

// startTimeout limits the time until Envoy is ready.
const startTimeout = 30 * time.Second

// FindEnvoy searches for the binary on PATH, in $ANYMESH_BIN and in the folder bin of the repository.
func FindEnvoy(repository string) (string, error) {
	if path, err := exec.LookPath("envoy"); err == nil {
		return path, nil
	}
	for _, dir := range []string{os.Getenv("ANYMESH_BIN"), filepath.Join(repository, "bin")} {
		if info, err := os.Stat(filepath.Join(dir, "envoy")); dir != "" && err == nil && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, "envoy"), nil
		}
	}
	return "", errors.New("no Envoy on PATH, in $ANYMESH_BIN or in bin; fetch it with `make envoy`")
}

// discovery serves the resources of one workload and records NACKs.
type discovery struct {
	mu         sync.Mutex
	rejections []string
	metricsURL string // of the agent
	relay      *relay.Relay
	library    *library // nil for a proxy
	server     *xds.Server
	envoy      int // process ID
}

// Connected implements xds.Observer.
func (d *discovery) Connected(string) {}

// Acked implements xds.Observer.
func (d *discovery) Acked(string, string, string, string) {}

// Disconnected implements xds.Observer.
func (d *discovery) Disconnected(string, string) {}

// Nacked implements xds.Observer.
func (d *discovery) Nacked(_, _, typeURL string, rejected map[string]string, message string) {
	names := slices.Sorted(maps.Keys(rejected))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rejections = append(d.rejections, fmt.Sprintf("Envoy rejects %s %s: %s", typeURL, strings.Join(names, ", "), message))
}

func (d *discovery) rejected() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rejections
}

// serve publishes resources as the control plane does, but without TLS: clients are not authenticated.
func (d *discovery) serve(ctx context.Context, node string, resources []sidecar.Resource) (*net.TCPAddr, error) {
	snapshot, err := snapshotOf(resources)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := xds.NewServer(func(_ context.Context, _ xds.Peer, n *corev3.Node) (xds.Grant, error) {
		return xds.Grant{Key: n.GetId(), Identity: n.GetId()}, nil
	}, xds.Options{Observer: d, Logger: slog.New(slog.DiscardHandler)}.WithStreams(streams))
	s.Publish(node, snapshot, time.Time{})
	d.server = s
	go func() { _ = s.Serve(ctx, l) }() // until the process ends
	return l.Addr().(*net.TCPAddr), nil
}

func snapshotOf(resources []sidecar.Resource) (*xds.Snapshot, error) {
	var encoded []*xds.Resource
	for _, r := range resources {
		e, err := xds.EncodedResource(r.Type, r.Name, r.Body)
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, e)
	}
	return xds.NewSnapshot(encoded...)
}

// process runs Envoy. socket is that of the secret discovery service; it may be empty.
type process struct {
	binary, dir, socket string
	network             *netns // nil for that of this process
}

// start runs Envoy with the command and files of the driver, and returns when it is ready.
func (p process) start(ctx context.Context, w model.Workload, resources []sidecar.Resource) (*discovery, error) {
	node := w.NodeID
	d := &discovery{}
	address, err := d.serve(ctx, node, resources)
	if err != nil {
		return nil, fmt.Errorf("discovery server: %w", err)
	}
	if p.binary == native.Name {
		return d, p.startNative(ctx, w, address, d)
	}
	if p.binary == grpcdriver.Name {
		return d, p.startLibrary(ctx, w, address, d)
	}
	injector := &sidecar.InjectorContext{
		Context: ctx, OsmNamespace: "anymesh-system", Workload: w, Node: node, SDSSocketPath: p.socket,
		Configurator: &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarImage: "envoy"}},
	}
	if err := (envoy.Driver{}).Patch(injector); err != nil {
		return nil, err
	}
	spec := injector.Sidecar
	d.metricsURL = spec.MetricsURL
	config, err := Bootstrap(spec.Files["envoy.json"], p.dir, nil)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	if d.relay, err = p.serveRelay(ctx, address); err != nil {
		return nil, err
	}
	file := filepath.Join(p.dir, "envoy.json")
	if err := errors.Join(os.WriteFile(file, config, 0o644), os.Chown(p.dir, sidecar.UID, sidecar.UID)); err != nil {
		return nil, err
	}
	arguments := append([]string{"--file-flush-interval-msec", "10"}, spec.Command[1:]...)
	for i, a := range arguments {
		arguments[i] = strings.Replace(a, sidecar.FilesDir, p.dir, 1)
	}
	// Each worker may open a connection, whatever the limits are.
	if i := slices.Index(arguments, "--concurrency"); i >= 0 {
		arguments[i+1] = "1"
	}
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, p.binary, arguments...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &log, &log, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: sidecar.UID, Gid: sidecar.UID}}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := p.ready(ctx, spec.ReadyURL, ended, d); err != nil {
		_ = cmd.Cancel()
		return nil, fmt.Errorf("Envoy: %w\n%s", err, strings.Join(d.rejected(), "\n"))
	}
	d.relay.Started()
	d.envoy = cmd.Process.Pid
	return d, nil
}

// serveRelay relays xDS to a discovery server as the agent does, but without TLS.
func (p process) serveRelay(ctx context.Context, discovery *net.TCPAddr) (*relay.Relay, error) {
	socket := filepath.Join(p.dir, "xds.sock")
	l, err := relay.Listen(ctx, socket, 0o600)
	if err != nil {
		return nil, err
	}
	r := relay.New(func() (*grpc.ClientConn, error) {
		return grpc.NewClient(discovery.String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				return p.network.dial(ctx, "tcp", address)
			}))
	}, "pod", slog.New(slog.DiscardHandler))
	go func() { _ = r.Serve(ctx, l) }() // until the process ends
	return r, os.Chown(socket, sidecar.UID, sidecar.UID)
}

// Bootstrap changes the bootstrap of the driver: dir is the folder of the certificates and sockets. Unless discovery is
// nil, Envoy connects to a control plane on this address without TLS, and not to the agent.
func Bootstrap(text []byte, dir string, discovery *net.TCPAddr) ([]byte, error) {
	text = bytes.ReplaceAll(text, []byte(sidecar.CertificatesDir), []byte(dir))
	var b bootstrapv3.Bootstrap
	if err := protojson.Unmarshal(text, &b); err != nil {
		return nil, err
	}
	for _, c := range b.StaticResources.Clusters {
		endpoint := c.LoadAssignment.Endpoints[0].LbEndpoints[0].GetEndpoint()
		if discovery == nil || !strings.HasSuffix(endpoint.Address.GetPipe().GetPath(), "/xds.sock") {
			continue
		}
		endpoint.Address = &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address:       discovery.IP.String(),
			PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(discovery.Port)},
		}}}
	}
	return protojson.Marshal(&b)
}

// ready waits until Envoy has received its configuration.
func (p process) ready(ctx context.Context, url string, ended <-chan error, d *discovery) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: p.network.dial}}
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if len(d.rejected()) > 0 {
			return errors.New("Envoy rejects its configuration")
		}
		select {
		case err := <-ended:
			return fmt.Errorf("process exited: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
