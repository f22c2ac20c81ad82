package delivery

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/sidecar"
)

// authorityName is the name of the resource of the type sidecar.AuthorityType.
const authorityName = "mesh"

// authority is the authority of the mesh, as agents get it with the resources of their workload.
type authority struct {
	resource *sidecar.Resource // nil before SetAuthority
	roots    string
	// confirmed has its own lock, so that an ACK does not wait for a delivery. It is acquired after that of the Deliverer.
	confirmed confirmed
}

// confirmed are the identities that have acknowledged a version of the authority, while they are connected.
type confirmed struct {
	mu      sync.Mutex
	version string
	by      map[string]struct{}
}

// SetAuthority publishes the certificate that signs and the trusted roots, in PEM, to the agents of all workloads with
// clients.
func (d *Deliverer) SetAuthority(signer, roots []byte) error {
	inline := func(text []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: text}}
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(&tlsv3.CommonTlsContext{
		TlsCertificates: []*tlsv3.TlsCertificate{{CertificateChain: inline(signer)}},
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{
			ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: inline(roots)},
		},
	})
	if err != nil {
		return fmt.Errorf("authority of the mesh: %w", err)
	}
	now := sidecar.Resource{Type: sidecar.AuthorityType, Name: authorityName, Body: body}
	encoded, err := xds.EncodedResource(now.Type, now.Name, now.Body)
	if err != nil {
		return fmt.Errorf("authority of the mesh: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.authority.confirmed.begin(encoded.VersionAlone()) {
		return nil
	}
	d.authority.resource, d.authority.roots = &now, string(roots)
	for key, w := range d.workloads {
		if w.outbound != nil {
			d.syncWorkload(key, time.Time{})
		}
	}
	return nil
}

// Confirmed lists the pods whose agents are connected and have confirmed that they trust the roots, in PEM.
func (d *Deliverer) Confirmed(roots []byte) []string {
	d.mu.Lock()
	current := d.authority.resource != nil && d.authority.roots == string(roots)
	d.mu.Unlock()
	if !current {
		return nil
	}
	return d.authority.confirmed.list()
}

// begin forgets what was confirmed if the version is another one, and reports whether it is.
func (c *confirmed) begin(version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == version {
		return false
	}
	c.version, c.by = version, map[string]struct{}{}
	return true
}

func (c *confirmed) add(version, identity string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == version && c.version != "" {
		c.by[identity] = struct{}{}
	}
}

func (c *confirmed) remove(identity string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.by, identity)
}

func (c *confirmed) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.by))
}
