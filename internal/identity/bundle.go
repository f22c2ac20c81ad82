package identity

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

const (
	pemCertificate = "CERTIFICATE"
	pemRequest     = "CERTIFICATE REQUEST"
	pemKey         = "PRIVATE KEY"

	maxBundle = 64 // roots; a rotation needs two
)

// Bundle is the set of root certificates that the mesh trusts. It has several roots during a rotation. It is
// immutable.
type Bundle struct {
	roots []*x509.Certificate // sorted by DER, without duplicates
}

// NewBundle creates a bundle of roots in any order; duplicates are removed.
func NewBundle(roots ...*x509.Certificate) *Bundle {
	sorted := slices.Clone(roots)
	slices.SortFunc(sorted, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
	return &Bundle{roots: slices.CompactFunc(sorted, (*x509.Certificate).Equal)}
}

// ParseBundle decodes PEM certificates, which must all be CA certificates. It requires at least one and accepts at
// most 64.
func ParseBundle(text []byte) (*Bundle, error) {
	certs, err := parseCertificates(text)
	if err != nil {
		return nil, fmt.Errorf("trust bundle: %w", err)
	}
	for i, c := range certs {
		if !c.IsCA {
			return nil, fmt.Errorf("trust bundle: certificate %d (%s) is not a CA certificate", i+1, c.Subject)
		}
	}
	return NewBundle(certs...), nil
}

// Roots returns the certificates in canonical order.
func (b *Bundle) Roots() []*x509.Certificate { return slices.Clone(b.roots) }

// Contains reports whether the certificate is a root of the bundle.
func (b *Bundle) Contains(c *x509.Certificate) bool { return slices.ContainsFunc(b.roots, c.Equal) }

// Union returns the bundle with all roots of b and the others.
func (b *Bundle) Union(others ...*Bundle) *Bundle {
	all := b.Roots()
	for _, o := range others {
		all = append(all, o.roots...)
	}
	return NewBundle(all...)
}

// without returns the bundle without one root.
func (b *Bundle) without(root *x509.Certificate) *Bundle {
	return NewBundle(slices.DeleteFunc(b.Roots(), root.Equal)...)
}

// PEM returns the bundle as PEM. Equal bundles have equal bytes.
func (b *Bundle) PEM() []byte { return encodeCertificates(b.roots) }

// Pool returns the bundle as a CertPool.
func (b *Bundle) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range b.roots {
		pool.AddCert(c)
	}
	return pool
}

func encodeCertificates(certs []*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, c := range certs {
		// Writing to a bytes.Buffer cannot fail.
		_ = pem.Encode(&out, &pem.Block{Type: pemCertificate, Bytes: c.Raw})
	}
	return out.Bytes()
}

func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for rest := text; len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			return nil, errors.New("data is not PEM")
		}
		if block.Type != pemCertificate {
			return nil, fmt.Errorf("unexpected PEM block %q, want certificates", block.Type)
		}
		if len(certs) == maxBundle {
			return nil, fmt.Errorf("more than %d certificates", maxBundle)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate found")
	}
	return certs, nil
}
