package identity

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Each case is a certificate with a valid chain that Sign would not have issued.
func TestPeerRejectsForeignCertificates(t *testing.T) {
	ca := testCA(t)
	sign := func(change func(*x509.Certificate)) *x509.Certificate {
		template := &x509.Certificate{
			Subject: pkix.Name{CommonName: blue.Pod, SerialNumber: blue.PodUID, OrganizationalUnit: []string{"shop"}},
			URIs:    []*url.URL{{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/shop/sa/colors"}},
		}
		change(template)
		cert, err := ca.issue(template, newKey(t).Public(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	if _, err := PeerFromCertificate(sign(func(*x509.Certificate) {})); err != nil {
		t.Fatal(err)
	}
	uri := func(s string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			u, err := url.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			c.URIs = []*url.URL{u}
		}
	}
	for name, change := range map[string]func(*x509.Certificate){
		"no URI":         func(c *x509.Certificate) { c.URIs = nil },
		"two URIs":       func(c *x509.Certificate) { c.URIs = append(c.URIs, c.URIs[0]) },
		"https":          uri("https://cluster.local/ns/shop/sa/colors"),
		"port":           uri("spiffe://cluster.local:1/ns/shop/sa/colors"),
		"user":           uri("spiffe://me@cluster.local/ns/shop/sa/colors"),
		"query":          uri("spiffe://cluster.local/ns/shop/sa/colors?x=y"),
		"fragment":       uri("spiffe://cluster.local/ns/shop/sa/colors#x"),
		"trailing slash": uri("spiffe://cluster.local/ns/shop/sa/colors/"),
		"escaped":        uri("spiffe://cluster.local/ns/shop/sa/%63olors"),
		"dots":           uri("spiffe://cluster.local/ns/../sa/colors"),
		"other path":     uri("spiffe://cluster.local/pod/shop/sa/colors"),
		"no trust":       uri("spiffe:///ns/shop/sa/colors"),
		"no pod":         func(c *x509.Certificate) { c.Subject.CommonName = "" },
		"no UID":         func(c *x509.Certificate) { c.Subject.SerialNumber = "" },
		"other OU":       func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"kube-system"} },
		"two OUs":        func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"shop", "shop"} },
		"two CNs": func(c *x509.Certificate) {
			c.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3},
				Value: "other"},
				{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: blue.Pod}}
		},
		"authority": func(c *x509.Certificate) { c.IsCA = true },
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := PeerFromCertificate(sign(change)); err == nil {
				t.Errorf("accepted as %+v", p)
			} else if !strings.HasPrefix(err.Error(), "peer certificate:") {
				t.Errorf("error %q has no prefix", err)
			}
		})
	}
	if _, err := PeerFromCertificate(nil); err == nil {
		t.Error("nil was accepted")
	}
}
