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

	maxBundle = 64 // roots; an overlap needs two, a merger of authorities a few
)

// Bundle is the set of root certificates that the mesh trusts. There can be
// more than one, so that an old and a new root overlap while one replaces the
// other. A Bundle does not change once made.
type Bundle struct {
	roots []*x509.Certificate // sorted by their bytes, without duplicates
}

// NewBundle makes a bundle of the given roots; order and duplicates do not matter.
func NewBundle(roots ...*x509.Certificate) *Bundle {
	sorted := slices.Clone(roots)
	slices.SortFunc(sorted, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
	return &Bundle{roots: slices.CompactFunc(sorted, (*x509.Certificate).Equal)}
}

// ParseBundle reads PEM certificates, all of which must be authorities. At
// least one is required, at most 64 are accepted.
func ParseBundle(text []byte) (*Bundle, error) {
	certs, err := parseCertificates(text)
	if err != nil {
		return nil, fmt.Errorf("trust bundle: %w", err)
	}
	for i, c := range certs {
		if !c.IsCA {
			return nil, fmt.Errorf("trust bundle: certificate %d (%s) is not an authority's", i+1, c.Subject)
		}
	}
	return NewBundle(certs...), nil
}

// Roots are the certificates in canonical order.
func (b *Bundle) Roots() []*x509.Certificate { return slices.Clone(b.roots) }

// Union is the bundle of all roots of b and the others.
func (b *Bundle) Union(others ...*Bundle) *Bundle {
	all := b.Roots()
	for _, o := range others {
		all = append(all, o.roots...)
	}
	return NewBundle(all...)
}

// without is the bundle without one root.
func (b *Bundle) without(root *x509.Certificate) *Bundle {
	return NewBundle(slices.DeleteFunc(b.Roots(), root.Equal)...)
}

// PEM is the canonical text: equal bundles have equal bytes.
func (b *Bundle) PEM() []byte { return encodeCertificates(b.roots) }

// Pool is the bundle as crypto/tls wants it.
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
			return nil, errors.New("there is text that is not PEM")
		}
		if block.Type != pemCertificate {
			return nil, fmt.Errorf("a %q block where only certificates belong", block.Type)
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
		return nil, errors.New("there is no certificate")
	}
	return certs, nil
}
