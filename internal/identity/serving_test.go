package identity

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

func TestServingCertificateIsRenewedAndHasNoSPIFFEID(t *testing.T) {
	now := time.Now()
	ca, err := newCA("cluster.local", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	s, err := ca.IssueServingCertificate([]string{"anymesh.anymesh-system.svc"})
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
	opts = x509.VerifyOptions{Roots: ca.Bundle().Pool(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := second.Leaf.Verify(opts); err == nil {
		t.Error("the certificate is valid for client authentication")
	}
	if _, err := PeerFromCertificate(second.Leaf); err == nil {
		t.Error("the certificate is accepted as a workload certificate")
	}
	if _, err := ca.IssueServingCertificate(nil); err == nil {
		t.Error("issued without a name")
	}
}

func TestBundleUnion(t *testing.T) {
	a, b := testCA(t), testCA(t)
	both := a.Bundle().Union(b.Bundle(), a.Bundle())
	if len(both.Roots()) != 2 {
		t.Fatalf("%d roots, want 2", len(both.Roots()))
	}
	if string(both.PEM()) != string(b.Bundle().Union(a.Bundle()).PEM()) {
		t.Error("the result depends on the order")
	}
	parsed, err := ParseBundle(both.PEM())
	if err != nil || string(parsed.PEM()) != string(both.PEM()) {
		t.Errorf("parsing the encoded bundle: got error %v", err)
	}
	for _, bad := range []string{"", "rubbish", string(both.PEM()) + "rubbish"} {
		if _, err := ParseBundle([]byte(bad)); err == nil {
			t.Errorf("%.20q was accepted", bad)
		}
	}
}
