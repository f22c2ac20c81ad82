package sidecar

import "time"

// Certificate is a certificate of the mesh, without its key: keys are made where they are used, and stay there. In Open
// Service Mesh, the certificates of the contexts have their keys: the injector made the key of each sidecar, and wrote
// it into a Secret.
type Certificate struct {
	// CommonName is the name for people; empty if the certificate has none. The identity is the SPIFFE ID.
	CommonName CommonName
	// CertChain is the certificate with its intermediates, in PEM; empty if it is made later, in the pod.
	CertChain []byte
	// IssuingCA is the bundle of roots that verifies the certificates of the mesh, in PEM.
	IssuingCA []byte
	// Expiration is when the certificate expires; zero without CertChain.
	Expiration time.Time
}

// GetCommonName returns the name for people.
func (c *Certificate) GetCommonName() CommonName { return c.CommonName }

// GetCertificateChain returns the certificate with its intermediates, in PEM.
func (c *Certificate) GetCertificateChain() []byte { return c.CertChain }

// GetIssuingCA returns the bundle of roots, in PEM.
func (c *Certificate) GetIssuingCA() []byte { return c.IssuingCA }

// GetExpiration returns when the certificate expires.
func (c *Certificate) GetExpiration() time.Time { return c.Expiration }
