package tiny

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// mesh is the configuration that the sidecar has received.
type mesh struct {
	mu      sync.RWMutex
	view    *model.View
	reaches map[string]model.ResolvedDestination // by destination name
	// versions are the resource versions by type and name. After a reconnect, the server sends only changed
	// resources.
	versions map[string]map[string]string
}

func newMesh() *mesh {
	return &mesh{
		reaches:  map[string]model.ResolvedDestination{},
		versions: map[string]map[string]string{viewType: {}, reachType: {}},
	}
}

// ready returns an error until the view and all of its destinations have been received.
func (m *mesh) ready() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.view == nil {
		return errors.New("no view yet")
	}
	for _, d := range m.view.Destinations {
		if _, known := m.reaches[d.Name]; !known {
			return fmt.Errorf("destination %s not received yet", d.Name)
		}
	}
	return nil
}

// follow keeps the mesh current until the context ends. It reopens streams that end and keeps the last configuration
// meanwhile.
func (m *mesh) follow(ctx context.Context, server, node string) {
	for ctx.Err() == nil {
		if err := m.stream(ctx, server, node); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "tiny: the stream to the control plane ended:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// stream opens a delta stream for both types and applies the responses.
func (m *mesh) stream(ctx context.Context, server, node string) error {
	config, err := mutualTLS(server)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("dns:///"+server, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	for kind, versions := range m.versions {
		first := &discoveryv3.DeltaDiscoveryRequest{
			Node: &corev3.Node{Id: node}, TypeUrl: kind, ResourceNamesSubscribe: []string{"*"},
			InitialResourceVersions: versions,
		}
		if err := stream.Send(first); err != nil {
			return err
		}
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.GetTypeUrl(), ResponseNonce: response.GetNonce()}
		if err := m.take(response); err != nil {
			return err // a complete driver would NACK with ErrorDetail and continue
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

func (m *mesh) take(response *discoveryv3.DeltaDiscoveryResponse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	versions := m.versions[response.GetTypeUrl()]
	for _, r := range response.GetResources() {
		body := r.GetResource().GetValue()
		var err error
		if response.GetTypeUrl() == viewType {
			view := &model.View{}
			if err = json.Unmarshal(body, view); err == nil {
				m.view = view
			}
		} else {
			var reach model.ResolvedDestination
			if err = json.Unmarshal(body, &reach); err == nil {
				m.reaches[r.GetName()] = reach
			}
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", response.GetTypeUrl(), r.GetName(), err)
		}
		versions[r.GetName()] = r.GetVersion()
	}
	for _, name := range response.GetRemovedResources() {
		delete(versions, name)
		delete(m.reaches, name)
	}
	return nil
}

// mutualTLS returns a configuration with the certificate that the agent renews. Each stream reads the files again.
func mutualTLS(server string) (*tls.Config, error) {
	file := func(name string) string { return filepath.Join(sidecar.CertificatesDir, name) }
	pair, err := tls.LoadX509KeyPair(file("tls.crt"), file("tls.key"))
	if err != nil {
		return nil, err
	}
	roots, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots) {
		return nil, errors.New("ca.crt contains no certificate")
	}
	host, _, err := net.SplitHostPort(server)
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: pool, ServerName: host, MinVersion: tls.VersionTLS13,
	}, err
}
