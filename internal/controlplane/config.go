package controlplane

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/dialect"
	drivers "anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/internal/objects/status"
	"anymesh.dev/anymesh/sidecar"
)

// StatusWritesPerSecond is how many statuses are written a second at most, unless Config says otherwise.
const StatusWritesPerSecond = status.WritesPerSecond

// Config is what a control plane is told at its start. KubeConfig and Namespace are required.
type Config struct {
	KubeConfig *rest.Config
	// Namespace is our own.
	Namespace string
	Mesh      *sidecar.MeshConfig
	// TrustDomain of the identities that we issue.
	TrustDomain string
	// CertificateLifetime of sidecars and of our own servers, RootLifetime of the root that signs them.
	CertificateLifetime, RootLifetime time.Duration
	// StatusWritesPerSecond bounds the writing of statuses; the constant of that name if it is 0.
	StatusWritesPerSecond int
	PullPolicy            corev1.PullPolicy
	// Dialects are the settings of the dialects; their trust domain is the one above, and takes its place.
	Dialects dialect.Settings
	// Name of this replica, for the election of the one that writes status.
	Name string
	// Addresses to listen on.
	SigningAddress, WebhookAddress, MetricsAddress, DebugAddress string
	Log                                                          *slog.Logger
}

// LoadMeshConfig reads the mesh-wide configuration: the file of the ConfigMap preset-mesh-config. Unknown fields are errors, and a mesh
// that names no driver has the default one of this program.
func LoadMeshConfig(path string) (*sidecar.MeshConfig, error) {
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
		return nil, fmt.Errorf("mesh configuration %s: there is more than one JSON document", path)
	}
	config.Sidecar.SidecarClass = cmp.Or(config.Sidecar.SidecarClass, drivers.Default)
	return config, nil
}

// LoadDialectValues reads the settings of the dialects: the file dialects.json of the ConfigMap preset-mesh-config. An empty path means
// none.
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

// service is the DNS name of our Service: with the cluster's domain, as sidecars and agents use it.
func (c Config) service() string { return "anymesh." + c.Namespace + ".svc.cluster.local" }

// serviceNames are all names under which we are reached; the API server leaves the domain out.
func (c Config) serviceNames() []string {
	return []string{c.service(), "anymesh." + c.Namespace + ".svc"}
}
