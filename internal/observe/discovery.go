package observe

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/pod/relay"
	"anymesh.dev/anymesh/sidecar"
)

// streams is the number of streams that a sidecar may open.
const streams = 200

// discovery serves the resources of one workload and records NACKs.
type discovery struct {
	mu         sync.Mutex
	rejections []string
	metricsURL string // of the agent
	relay      *relay.Relay
	library    *library // nil for a proxy
	server     *xds.Server
}

// Connected implements xds.Observer.
func (d *discovery) Connected(string) {}

// Acked implements xds.Observer.
func (d *discovery) Acked(string, string, string, string, map[string]string) {}

// Disconnected implements xds.Observer.
func (d *discovery) Disconnected(string, string) {}

// Nacked implements xds.Observer.
func (d *discovery) Nacked(_, _, typeURL string, rejected map[string]string, message string) {
	names := slices.Sorted(maps.Keys(rejected))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rejections = append(d.rejections, fmt.Sprintf("the sidecar rejects %s %s: %s", typeURL, strings.Join(names, ", "), message))
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
