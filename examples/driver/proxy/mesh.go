package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Mesh is the configuration that the sidecar has received. It is safe for concurrent use.
type Mesh struct {
	mu   sync.RWMutex
	view *model.View
	// resolved are the destinations with their endpoints, by the name of the destination.
	resolved map[string]model.ResolvedDestination
}

// SetView replaces the view.
func (m *Mesh) SetView(v *model.View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view = v
}

// SetAll replaces the view and all destinations.
func (m *Mesh) SetAll(v *model.View, destinations []model.ResolvedDestination) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view = v
	clear(m.resolved)
	for _, r := range destinations {
		m.resolved[r.Destination.Name] = r
	}
}

// SetDestination adds a destination, or replaces it.
func (m *Mesh) SetDestination(r model.ResolvedDestination) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resolved[r.Destination.Name] = r
}

// RemoveDestination removes a destination.
func (m *Mesh) RemoveDestination(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.resolved, name)
}

// ready returns an error until the view and all of its destinations have been received.
func (m *Mesh) ready() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.view == nil {
		return errors.New("no view yet")
	}
	for _, d := range m.view.Destinations {
		if _, known := m.resolved[d.Name]; !known {
			return fmt.Errorf("destination %s not received yet", d.Name)
		}
	}
	return nil
}

// MutualTLS returns the configuration for a connection to the control plane at host:port, with the certificate of the
// pod. The agent renews it: each connection reads the files again.
func MutualTLS(server string) (*tls.Config, error) {
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
