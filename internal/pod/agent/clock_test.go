package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/identity"
)

// issuedBy returns a certificate that a control plane has issued now, and its key. The clock of the control plane
// differs from that of this machine.
func issuedBy(t *testing.T, offset, lifetime time.Duration) (*identity.Issued, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(offset)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: now.Add(-2 * time.Minute),
		NotAfter: now.Add(lifetime),
		Subject:  pkix.Name{CommonName: "blue-1", SerialNumber: "uid-1", OrganizationalUnit: []string{"shop"}},
		URIs:     []*url.URL{{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/shop/sa/colors"}},
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	encode := func(c *x509.Certificate) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, root, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &identity.Issued{CertificatePEM: encode(leaf), RootsPEM: encode(root), NotBefore: leaf.NotBefore,
		NotAfter: leaf.NotAfter}, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// A clock of the node that is set back or forth by an hour stops no renewal, makes none come late, and repeats none.
func TestRenewalsDoNotDependOnTheClock(t *testing.T) {
	const lifetime = 2 * time.Minute
	for name, offset := range map[string]time.Duration{
		"right": 0, "the node is behind": time.Hour, "the node is ahead": -time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			issued, key := issuedBy(t, offset, lifetime)
			if err := verifyIssued(issued, key, issued.NotAfter.Add(-issued.Lifetime()/2)); err != nil {
				t.Errorf("a new certificate is not used: %v", err)
			}
			now := time.Now()
			if in := renewalTime(now, issued).Sub(now); in < lifetime/2 || in > lifetime*2/3 {
				t.Errorf("the next renewal is in %s, the certificate lives for %s", in, lifetime)
			}
		})
	}
}
