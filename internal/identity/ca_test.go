package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
)

var blue = Claims{Namespace: "shop", ServiceAccount: "colors", Pod: "blue-7d4b9-x2x",
	PodUID: "0f8fad5b-d9cb-469f-a165-70867728950e"}

func testCA(t testing.TB) *CA {
	t.Helper()
	ca, err := NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func newCSR(t testing.TB, key crypto.Signer, template *x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return EncodeRequest(der)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func leafOf(t testing.TB, issued *Issued) *x509.Certificate {
	t.Helper()
	certs, err := parseCertificates(issued.CertificatePEM)
	if err != nil {
		t.Fatal(err)
	}
	return certs[0]
}

// go-spiffe verifies the certificate as an X.509-SVID of its bundle.
func TestSVIDVerifiesWithGoSPIFFE(t *testing.T) {
	ca := testCA(t)
	key := newKey(t)
	issued, err := ca.Sign(newCSR(t, key, &x509.CertificateRequest{}), blue, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	svid, err := x509svid.Parse(issued.CertificatePEM, pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: keyDER}))
	if err != nil {
		t.Fatal(err)
	}
	td := spiffeid.RequireTrustDomainFromString("cluster.local")
	bundle, err := x509bundle.Parse(td, issued.RootsPEM)
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := x509svid.Verify(svid.Certificates, bundle)
	if err != nil {
		t.Fatal(err)
	}
	if want := "spiffe://cluster.local/ns/shop/sa/colors"; id.String() != want {
		t.Errorf("SPIFFE ID %q, want %q", id, want)
	}
	if _, _, err := x509svid.Verify(svid.Certificates,
		x509bundle.FromX509Authorities(td, testCA(t).Bundle().Roots())); err == nil {
		t.Error("a foreign root verified the certificate")
	}
}

func TestPeerFromSignedCertificate(t *testing.T) {
	issued, err := testCA(t).Sign(newCSR(t, newKey(t), &x509.CertificateRequest{}), blue, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	got, err := PeerFromCertificate(leafOf(t, issued))
	if err != nil {
		t.Fatal(err)
	}
	want := Peer{TrustDomain: "cluster.local", Namespace: "shop", ServiceAccount: "colors", Pod: blue.Pod,
		PodUID: blue.PodUID}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.ID() != "spiffe://cluster.local/ns/shop/sa/colors" {
		t.Errorf("ID %q", got.ID())
	}
}

func TestSignUsesOnlyPublicKeyOfRequest(t *testing.T) {
	key := newKey(t)
	greedy := newCSR(t, key, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		DNSNames: []string{"anymesh.anymesh-system.svc"},
		URIs:     []*url.URL{{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/kube-system/sa/admin"}},
		ExtraExtensions: []pkix.Extension{{
			Id: []int{2, 5, 29, 19}, Value: []byte{0x30, 0x03, 0x01, 0x01, 0xff}, Critical: true, // CA:TRUE
		}},
	})
	issued, err := testCA(t).Sign(greedy, blue, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf := leafOf(t, issued)
	if leaf.IsCA || !slices.Equal(leaf.DNSNames, []string{"colors.shop.sa.cluster.local"}) || len(leaf.URIs) != 1 || leaf.Subject.CommonName != blue.Pod ||
		len(leaf.Subject.Organization) != 0 {
		t.Errorf("attributes of the request were used: %+v %v %v", leaf.Subject, leaf.DNSNames, leaf.URIs)
	}
	if !key.PublicKey.Equal(leaf.PublicKey) {
		t.Error("the certificate has another key")
	}
}

func TestCertificateLifetimes(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	ca, err := newCA("cluster.local", clock)
	if err != nil {
		t.Fatal(err)
	}
	csr := newCSR(t, newKey(t), &x509.CertificateRequest{})
	issued, err := ca.Sign(csr, blue, DefaultLifetime)
	if err != nil {
		t.Fatal(err)
	}
	if want := now.Add(24 * time.Hour); !issued.NotAfter.Equal(want) {
		t.Errorf("expires %s, want %s", issued.NotAfter, want)
	}
	if _, err := ca.Sign(csr, blue, 0); err == nil {
		t.Error("a lifetime of 0 was accepted")
	}

	now = now.Add(RootLifetime - time.Hour)
	if issued, err = ca.Sign(csr, blue, DefaultLifetime); err != nil {
		t.Fatal(err)
	}
	if want := ca.cert.NotAfter; !issued.NotAfter.Equal(want) {
		t.Errorf("expires %s, after its authority at %s", issued.NotAfter, want)
	}
	now = now.Add(2 * time.Hour)
	if _, err = ca.Sign(csr, blue, DefaultLifetime); err == nil {
		t.Error("an expired authority signed")
	}
}

func TestSignRejectsInvalidClaims(t *testing.T) {
	csr := newCSR(t, newKey(t), &x509.CertificateRequest{})
	ca := testCA(t)
	for field, breakIt := range map[string]func(*Claims){
		"namespace":       func(c *Claims) { c.Namespace = "a/../b" },
		"service account": func(c *Claims) { c.ServiceAccount = "" },
		"pod":             func(c *Claims) { c.Pod = strings.Repeat("a", 254) },
		"pod UID":         func(c *Claims) { c.PodUID = "x y" },
	} {
		t.Run(field, func(t *testing.T) {
			c := blue
			breakIt(&c)
			if _, err := ca.Sign(csr, c, time.Hour); err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("error %v does not name the field", err)
			}
		})
	}
}

func TestLoadCARoundTrip(t *testing.T) {
	ca := testCA(t)
	key, err := ca.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadCA("cluster.local", ca.CertificatePEM(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := again.Sign(newCSR(t, newKey(t), &x509.CertificateRequest{}), blue, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	_, err = leafOf(t, issued).Verify(x509.VerifyOptions{Roots: ca.Bundle().Pool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		t.Error(err)
	}

	other := testCA(t)
	if _, err := LoadCA("cluster.local", other.CertificatePEM(), key, nil); err == nil ||
		!strings.Contains(err.Error(), "key") {
		t.Errorf("a foreign key was accepted: %v", err)
	}
	if _, err := LoadCA("cluster.local", ca.CertificatePEM(), key, other.Bundle().PEM()); err == nil ||
		!strings.Contains(err.Error(), "roots") {
		t.Errorf("foreign roots were accepted: %v", err)
	}
	late := func() time.Time { return time.Now().Add(2 * RootLifetime) }
	if _, err := loadCA("cluster.local", ca.CertificatePEM(), key, nil, late); err == nil {
		t.Error("an expired authority was loaded")
	}
}

func TestIntermediateCASendsChain(t *testing.T) {
	root := testCA(t)
	root.cert.MaxPathLenZero = false // only affects what this test lets it sign
	key := newKey(t)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "intermediate"}, IsCA: true, MaxPathLenZero: true, BasicConstraintsValid: true,
	}
	top := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "company root"}, IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
	}
	topKey := newKey(t)
	topDER, err := x509.CreateCertificate(rand.Reader, top, top, topKey.Public(), topKey)
	if err != nil {
		t.Fatal(err)
	}
	if top, err = x509.ParseCertificate(topDER); err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.KeyUsage = big.NewInt(2), x509.KeyUsageCertSign
	template.NotBefore, template.NotAfter = top.NotBefore, top.NotAfter
	der, err := x509.CreateCertificate(rand.Reader, template, top, key.Public(), topKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, _ := x509.MarshalPKCS8PrivateKey(key)
	ca, err := LoadCA("cluster.local", pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: keyDER}), NewBundle(top).PEM())
	if err != nil {
		t.Fatal(err)
	}
	issued, err := ca.Sign(newCSR(t, newKey(t), &x509.CertificateRequest{}), blue, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := parseCertificates(issued.CertificatePEM)
	if err != nil || len(chain) != 2 {
		t.Fatalf("chain of %d certificates (%v), want leaf and intermediate", len(chain), err)
	}
	td := spiffeid.RequireTrustDomainFromString("cluster.local")
	if _, _, err := x509svid.Verify(chain, x509bundle.FromX509Authorities(td, ca.Bundle().Roots())); err != nil {
		t.Error(err)
	}
}
