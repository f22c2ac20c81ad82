package controlplane

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/dialect"
	drivers "anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/status"
	"anymesh.dev/anymesh/internal/trait"
	"anymesh.dev/anymesh/sidecar"
)

// StatusWritesPerSecond is the default of Config.StatusWritesPerSecond.
const StatusWritesPerSecond = status.WritesPerSecond

// Config configures a control plane. KubeConfig and Namespace are required.
type Config struct {
	KubeConfig *rest.Config
	// Namespace is the namespace of the control plane.
	Namespace string
	Mesh      *sidecar.MeshConfig
	// TrustDomain is the trust domain of issued identities.
	TrustDomain string
	// CertificateLifetime is the lifetime of the certificates of sidecars and servers, RootLifetime that of the root
	// CA.
	CertificateLifetime, RootLifetime time.Duration
	// StatusWritesPerSecond limits status writes; 0 means the constant of that name.
	StatusWritesPerSecond int
	PullPolicy            corev1.PullPolicy
	// Dialects are the settings of the dialects. TrustDomain replaces their trust domain.
	Dialects dialect.Settings
	// RouteTrait are the settings of the Route trait. Its zero value disables it.
	RouteTrait trait.Settings
	// APIServerRanges are addresses from which API servers send reviews, besides those in the cluster's EndpointSlice.
	APIServerRanges []netip.Prefix
	// Name is the name of this replica, for leader election.
	Name string
	// The listen addresses.
	SigningAddress, NamesAddress, WebhookAddress, MetricsAddress, DebugAddress string
	Log                                                                        *slog.Logger
	// ShutdownDelay is how long API servers get answers after the context of Run ends: they use a replica until Services
	// exclude it.
	ShutdownDelay time.Duration
	// OnSynced is called after the first sync, before sidecars are served. Nil means nothing.
	OnSynced func()
}

// LoadMeshConfig reads the mesh-wide configuration: the file of the ConfigMap preset-mesh-config. Unknown fields are
// errors. If the file names no driver, the default driver of this program applies. hasIPv6 says what sidecar.IPv6Auto
// stands for.
func LoadMeshConfig(path string, hasIPv6 func() bool) (*sidecar.MeshConfig, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("mesh configuration: %w", err)
	}
	defer func() { _ = file.Close() }()
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	config := &sidecar.MeshConfig{}
	if err := decoder.Decode(config); err != nil {
		return nil, fmt.Errorf("mesh configuration %s: %w", path, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("mesh configuration %s: more than one JSON document", path)
	}
	if _, err := engine.SettingsOf(config); err != nil {
		return nil, fmt.Errorf("mesh configuration %s: %w", path, err)
	}
	config.Sidecar.SidecarClass = cmp.Or(config.GetSidecarClass(), drivers.Default)
	if cmp.Or(config.Sidecar.IPv6, sidecar.IPv6Auto) == sidecar.IPv6Auto {
		config.Sidecar.IPv6 = sidecar.IPv6Enabled
		if !hasIPv6() {
			config.Sidecar.IPv6 = sidecar.IPv6Disabled
		}
	}
	return config, nil
}

// LoadDialectValues reads the settings of the dialects: the file dialects.json of the ConfigMap preset-mesh-config. An
// empty path means none.
func LoadDialectValues(path string) (map[string]json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("settings of the dialects: %w", err)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("settings of the dialects: %s: %w", path, err)
	}
	return values, nil
}

// service returns the DNS name of the control plane's Service with the cluster domain, as sidecars and agents use it.
func (c Config) service() string { return "anymesh." + c.Namespace + ".svc.cluster.local" }

// serviceNames returns all DNS names of the Service; the API server omits the cluster domain.
func (c Config) serviceNames() []string {
	return []string{c.service(), "anymesh." + c.Namespace + ".svc"}
}

// checkPorts returns an error if a driver has the port of another server of the control plane.
func (c Config) checkPorts(drivers []*driver) error {
	for _, server := range []struct{ name, address string }{
		{"signing endpoint", c.SigningAddress}, {"host names", c.NamesAddress}, {"webhooks", c.WebhookAddress},
		{"metrics", c.MetricsAddress}, {"debug server", c.DebugAddress},
	} {
		_, port, err := net.SplitHostPort(server.address)
		if err != nil {
			continue // its listener reports it
		}
		for _, d := range drivers {
			if port == strconv.FormatUint(uint64(d.port()), 10) {
				return fmt.Errorf("sidecar driver %s has port %s of the %s; set another proxyServerPort in its entry in sidecarDrivers", d.Name, port, server.name)
			}
		}
	}
	return nil
}
