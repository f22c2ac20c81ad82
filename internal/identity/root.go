package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// root is a self-signed CA certificate with its key.
type root struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newRoot creates an ECDSA P-256 key and a self-signed certificate.
func newRoot(trustDomain string, lifetime time.Duration, now time.Time) (root, error) {
	if err := checkTrustDomain(trustDomain); err != nil {
		return root{}, fmt.Errorf("new CA: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return root{}, fmt.Errorf("new CA: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return root{}, fmt.Errorf("new CA: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject: pkix.Name{
			CommonName: "Anymesh root of " + trustDomain, Organization: []string{"Anymesh"},
			SerialNumber: hex.EncodeToString(serial.Bytes()[:4]), // gives each root a unique name
		},
		// X509-SVID 3.1: the SPIFFE ID of a CA has no path
		URIs:                  []*url.URL{{Scheme: "spiffe", Host: trustDomain}},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true, // no path length limit: it signs the cross certificate of the next root
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return root{}, fmt.Errorf("new CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return root{}, fmt.Errorf("new CA: %w", err)
	}
	return root{cert: cert, key: key}, nil
}

// trustDomainOf returns the trust domain of a root, and "" for a certificate that is not such a root.
func trustDomainOf(root *x509.Certificate) string {
	if len(root.URIs) != 1 || root.URIs[0].Scheme != "spiffe" || root.URIs[0].Path != "" {
		return ""
	}
	return root.URIs[0].Host
}

// crossSign creates a cross certificate: peers that trust r also trust the key of the other root while r is valid. A
// pod that received its roots before a rotation can still verify the control plane.
func (r root) crossSign(other *x509.Certificate) (*x509.Certificate, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, fmt.Errorf("cross certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: other.Subject, SubjectKeyId: other.SubjectKeyId, URIs: other.URIs,
		NotBefore: other.NotBefore, NotAfter: r.cert.NotAfter,
		KeyUsage: other.KeyUsage, BasicConstraintsValid: true, IsCA: true,
	}
	if other.NotAfter.Before(template.NotAfter) {
		template.NotAfter = other.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, r.cert, other.PublicKey, r.key)
	if err != nil {
		return nil, fmt.Errorf("cross certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// newSerial returns a positive serial number with 126 random bits (RFC 5280, 4.1.2.2: at most 20 octets).
func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, err
	}
	return n.SetBit(n, 126, 1), nil
}
