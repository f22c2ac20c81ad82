package cli

import (
	"crypto/x509"
	"testing"
)

func TestSelfSignedCertificateIsThatOfTheAddress(t *testing.T) {
	for _, host := range []string{"10.1.2.3", "aggregator.example.com", "::1"} {
		certificate, text, err := selfSigned(host)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			t.Fatal("the PEM has no certificate")
		}
		leaf, err := x509.ParseCertificate(certificate.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{host, "127.0.0.1", "localhost"} {
			if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
				t.Errorf("%s for host %s: %v", name, host, err)
			}
		}
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "other.example.com", Roots: roots}); err == nil {
			t.Error("the certificate is that of another host")
		}
	}
}

func TestAddressesWithoutTLSAreOfTheLoopbackInterface(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "10.1.2.3:80", "localhost:0", "127.0.0.1"} {
		if l, err := listenLoopback(t.Context(), address); err == nil {
			l.Close()
			t.Errorf("%s is accepted", address)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := listenLoopback(t.Context(), address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		l.Close()
	}
}
