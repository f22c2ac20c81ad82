package identity

import (
	"crypto"
	"crypto/dsa" //nolint:staticcheck // only its type is of interest: it must be refused
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
)

var blue = Claims{Namespace: "shop", ServiceAccount: "colors", Pod: "blue-7d4b9-x2x", PodUID: "0f8fad5b-d9cb-469f-a165-70867728950e"}

func testCA(t testing.TB) *CA {
	t.Helper()
	ca, err := NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func request(t testing.TB, key crypto.Signer, template *x509.CertificateRequest) []byte {
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

// go-spiffe, which we did not write, says whether the certificate is an X.509-SVID of its bundle.
func TestSVIDIsAcceptedByAnIndependentJudge(t *testing.T) {
	ca := testCA(t)
	key := newKey(t)
	issued, err := ca.Sign(request(t, key, &x509.CertificateRequest{}), blue, time.Hour)
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
	if _, _, err := x509svid.Verify(svid.Certificates, x509bundle.FromX509Authorities(td, testCA(t).Bundle().Roots())); err == nil {
		t.Error("a foreign root verified the certificate")
	}
}

func TestPeerReadsBackWhatWasSigned(t *testing.T) {
	issued, err := testCA(t).Sign(request(t, newKey(t), &x509.CertificateRequest{}), blue, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	got, err := PeerFromCertificate(leafOf(t, issued))
	if err != nil {
		t.Fatal(err)
	}
	want := Peer{TrustDomain: "cluster.local", Namespace: "shop", ServiceAccount: "colors", Pod: blue.Pod, PodUID: blue.PodUID}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.ID() != "spiffe://cluster.local/ns/shop/sa/colors" {
		t.Errorf("ID %q", got.ID())
	}
}

func TestOnlyThePublicKeyOfARequestCounts(t *testing.T) {
	key := newKey(t)
	greedy := request(t, key, &x509.CertificateRequest{
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
	if leaf.IsCA || len(leaf.DNSNames) != 0 || len(leaf.URIs) != 1 || leaf.Subject.CommonName != blue.Pod || len(leaf.Subject.Organization) != 0 {
		t.Errorf("the request's wishes were granted: %+v %v %v", leaf.Subject, leaf.DNSNames, leaf.URIs)
	}
	if !key.PublicKey.Equal(leaf.PublicKey) {
		t.Error("the certificate has another key")
	}
}

func TestRequestLimits(t *testing.T) {
	p224, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	rsa2048, _ := rsa.GenerateKey(rand.Reader, 2048)
	_, edwards, _ := ed25519.GenerateKey(rand.Reader)
	t.Setenv("GODEBUG", "rsa1024min=0")
	rsa1024, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	good := request(t, newKey(t), &x509.CertificateRequest{})
	block, _ := pem.Decode(good)
	forged := append([]byte(nil), block.Bytes...)
	forged[len(forged)-1] ^= 1

	for name, c := range map[string]struct {
		csr  []byte
		want string // "" is accepted
	}{
		"P-256":               {good, ""},
		"P-384":               {request(t, p384, &x509.CertificateRequest{}), ""},
		"Ed25519":             {request(t, edwards, &x509.CertificateRequest{}), ""},
		"RSA 2048":            {request(t, rsa2048, &x509.CertificateRequest{}), ""},
		"RSA 1024":            {request(t, rsa1024, &x509.CertificateRequest{}), "1024 bits"},
		"P-224":               {request(t, p224, &x509.CertificateRequest{}), "P-224"},
		"broken signature":    {EncodeRequest(forged), "possession"},
		"not PEM":             {[]byte("hello"), "not PEM"},
		"empty":               {nil, "not PEM"},
		"a certificate":       {testCA(t).CertificatePEM(), "CERTIFICATE"},
		"two requests":        {append(append([]byte(nil), good...), good...), "more than one"},
		"too large":           {append(append([]byte(nil), good...), make([]byte, MaxRequestSize)...), "at most"},
		"PEM of nothing":      {EncodeRequest(nil), "certificate request"},
		"PEM of random bytes": {EncodeRequest([]byte{1, 2, 3}), "certificate request"},
	} {
		_, err := testCA(t).Sign(c.csr, blue, time.Hour)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && !errors.Is(err, ErrRequest):
			t.Errorf("%s: got %v, want ErrRequest", name, err)
		case c.want != "" && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: error %q does not say %q", name, err, c.want)
		}
	}
	if checkKey(&dsa.PublicKey{}) == nil {
		t.Error("a DSA key was accepted")
	}
	if checkKey(&rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 9000), E: 3}) == nil {
		t.Error("an RSA key of 9001 bits was accepted")
	}
}

func TestLifetimes(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	ca, err := newCA("cluster.local", clock)
	if err != nil {
		t.Fatal(err)
	}
	csr := request(t, newKey(t), &x509.CertificateRequest{})
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

func TestClaimsAreChecked(t *testing.T) {
	csr := request(t, newKey(t), &x509.CertificateRequest{})
	ca := testCA(t)
	for field, breakIt := range map[string]func(*Claims){
		"namespace":       func(c *Claims) { c.Namespace = "a/../b" },
		"service account": func(c *Claims) { c.ServiceAccount = "" },
		"pod":             func(c *Claims) { c.Pod = strings.Repeat("a", 254) },
		"pod UID":         func(c *Claims) { c.PodUID = "x y" },
	} {
		c := blue
		breakIt(&c)
		if _, err := ca.Sign(csr, c, time.Hour); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v does not name the field", field, err)
		}
	}
}

func TestStoredAuthorityIsTheSame(t *testing.T) {
	ca := testCA(t)
	key, err := ca.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadCA("cluster.local", ca.CertificatePEM(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := again.Sign(request(t, newKey(t), &x509.CertificateRequest{}), blue, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	_, err = leafOf(t, issued).Verify(x509.VerifyOptions{Roots: ca.Bundle().Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		t.Error(err)
	}

	other := testCA(t)
	if _, err := LoadCA("cluster.local", other.CertificatePEM(), key, nil); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("a foreign key was accepted: %v", err)
	}
	if _, err := LoadCA("cluster.local", ca.CertificatePEM(), key, other.Bundle().PEM()); err == nil || !strings.Contains(err.Error(), "roots") {
		t.Errorf("foreign roots were accepted: %v", err)
	}
	late := func() time.Time { return time.Now().Add(2 * RootLifetime) }
	if _, err := loadCA("cluster.local", ca.CertificatePEM(), key, nil, late); err == nil {
		t.Error("an expired authority was loaded")
	}
}

func TestAnIntermediateSendsItsChain(t *testing.T) {
	root := testCA(t)
	root.cert.MaxPathLenZero = false // only affects what this test lets it sign
	key := newKey(t)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "intermediate"}, IsCA: true, MaxPathLenZero: true, BasicConstraintsValid: true,
	}
	top := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "company root"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
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
	issued, err := ca.Sign(request(t, newKey(t), &x509.CertificateRequest{}), blue, time.Minute)
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

func TestServingCertificateIsRenewedAndIsNoWorkload(t *testing.T) {
	now := time.Now()
	ca, err := newCA("cluster.local", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	s, err := ca.IssueServing([]string{"anymesh.anymesh-system.svc"})
	if err != nil {
		t.Fatal(err)
	}
	get := func() *tls.Certificate {
		cert, err := s.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	first := get()
	now = now.Add(15 * time.Hour)
	if get() != first {
		t.Error("renewed before two thirds of the lifetime")
	}
	now = now.Add(2 * time.Hour)
	second := get()
	if second == first {
		t.Error("not renewed after two thirds of the lifetime")
	}
	opts := x509.VerifyOptions{Roots: ca.Bundle().Pool(), DNSName: "anymesh.anymesh-system.svc", CurrentTime: now}
	if _, err := second.Leaf.Verify(opts); err != nil {
		t.Error(err)
	}
	opts = x509.VerifyOptions{Roots: ca.Bundle().Pool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := second.Leaf.Verify(opts); err == nil {
		t.Error("good for clients, too")
	}
	if _, err := PeerFromCertificate(second.Leaf); err == nil {
		t.Error("it passes as a workload")
	}
	if _, err := ca.IssueServing(nil); err == nil {
		t.Error("issued without a name")
	}
}

func TestBundlesOverlap(t *testing.T) {
	a, b := testCA(t), testCA(t)
	both := a.Bundle().Union(b.Bundle(), a.Bundle())
	if len(both.Roots()) != 2 {
		t.Fatalf("%d roots, want 2", len(both.Roots()))
	}
	if string(both.PEM()) != string(b.Bundle().Union(a.Bundle()).PEM()) {
		t.Error("order matters")
	}
	parsed, err := ParseBundle(both.PEM())
	if err != nil || string(parsed.PEM()) != string(both.PEM()) {
		t.Errorf("not read back: %v", err)
	}
	for _, bad := range []string{"", "rubbish", string(both.PEM()) + "rubbish"} {
		if _, err := ParseBundle([]byte(bad)); err == nil {
			t.Errorf("%.20q was accepted", bad)
		}
	}
}
