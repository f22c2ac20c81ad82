package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

func TestIssueServerKeyPair(t *testing.T) {
	ca, err := NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.IssueServerKeyPair([]string{"shop.example.com"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.CertificatePEM, pair.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	if key, ok := cert.PrivateKey.(*ecdsa.PrivateKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("the key is a %T", cert.PrivateKey)
	}
	roots, err := ParseBundle(pair.RootsPEM)
	if err != nil {
		t.Fatal(err)
	}
	server := x509.VerifyOptions{Roots: roots.Pool(), DNSName: "shop.example.com"}
	if _, err := cert.Leaf.Verify(server); err != nil {
		t.Error(err)
	}
	client := server
	client.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := cert.Leaf.Verify(client); err == nil || len(cert.Leaf.URIs) > 0 {
		t.Errorf("the certificate identifies a client: URIs %v", cert.Leaf.URIs)
	}
	if _, err := ca.IssueServerKeyPair(nil, time.Hour); err == nil {
		t.Error("a certificate without names was issued")
	}
}
