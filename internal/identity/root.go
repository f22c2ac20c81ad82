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

// root is a self-signed certificate with its key.
type root struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newRoot makes a fresh ECDSA P-256 key and a self-signed certificate for it.
func newRoot(trustDomain string, lifetime time.Duration, now time.Time) (root, error) {
	if err := checkTrustDomain(trustDomain); err != nil {
		return root{}, fmt.Errorf("new authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return root{}, fmt.Errorf("new authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return root{}, fmt.Errorf("new authority: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject: pkix.Name{
			CommonName: "Anymesh root of " + trustDomain, Organization: []string{"Anymesh"},
			SerialNumber: hex.EncodeToString(serial.Bytes()[:4]), // two roots of a mesh are two names
		},
		URIs:                  []*url.URL{{Scheme: "spiffe", Host: trustDomain}}, // X509-SVID 3.1: an authority's ID has no path
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true, // without a path length: it vouches for the root after it
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return root{}, fmt.Errorf("new authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return root{}, fmt.Errorf("new authority: %w", err)
	}
	return root{cert: cert, key: key}, nil
}

// vouch makes a certificate by which those who trust r trust the other root's
// key, too, as long as r is valid. A pod that was told of its roots long ago
// still finds its way to us by it.
func (r root) vouch(other *x509.Certificate) (*x509.Certificate, error) {
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

// newSerial is positive and has 126 random bits under a set one (RFC 5280 4.1.2.2: at most 20 octets).
func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, err
	}
	return n.SetBit(n, 126, 1), nil
}
