package identity

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"time"

	"anymesh.dev/anymesh/model"
)

// Issued is a signed certificate with the certificates to use and to verify it.
type Issued struct {
	// CertificatePEM is the leaf followed by the intermediates.
	CertificatePEM []byte
	// RootsPEM is the trust bundle.
	RootsPEM []byte
	// Serial is the serial number of the leaf, in hex.
	Serial string
	// NotBefore and NotAfter are the validity of the leaf.
	NotBefore, NotAfter time.Time
}

// Lifetime returns for how long the certificate is valid from when it was issued, whatever the clock of this machine
// shows.
func (i *Issued) Lifetime() time.Duration {
	valid := i.NotAfter.Sub(i.NotBefore)
	if valid > backdate {
		return valid - backdate
	}
	return valid / 2
}

// Sign issues the X.509-SVID of the pod in the claims, for the public key of the certificate request. Other fields of
// the request are ignored. ttl must be positive, and is reduced to the remaining lifetime of the CA. Errors in the
// request wrap ErrRequest.
func (ca *CA) Sign(csrPEM []byte, claims Claims, ttl time.Duration) (*Issued, error) {
	if err := claims.check(); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	key, err := publicKeyOf(csrPEM)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	leaf, err := ca.issue(&x509.Certificate{
		Subject: pkix.Name{
			CommonName:         claims.Pod,
			SerialNumber:       claims.PodUID,
			OrganizationalUnit: []string{claims.Namespace},
		},
		URIs: []*url.URL{{
			Scheme: "spiffe", Host: ca.trustDomain,
			Path: "/ns/" + claims.Namespace + "/sa/" + claims.ServiceAccount,
		}},
		DNSNames: []string{model.Identity{
			TrustDomain: ca.trustDomain, Namespace: claims.Namespace, Account: claims.ServiceAccount,
		}.DNSName()},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key, ttl)
	if err != nil {
		return nil, fmt.Errorf("sign for pod %s/%s: %w", claims.Namespace, claims.Pod, err)
	}
	return &Issued{
		CertificatePEM: encodeCertificates(append([]*x509.Certificate{leaf}, ca.chain...)),
		RootsPEM:       ca.bundle.PEM(),
		Serial:         leaf.SerialNumber.Text(16),
		NotBefore:      leaf.NotBefore,
		NotAfter:       leaf.NotAfter,
	}, nil
}

// issue sets the fields that all leaves share, and signs.
func (ca *CA) issue(template *x509.Certificate, key crypto.PublicKey, ttl time.Duration) (*x509.Certificate, error) {
	now := ca.now()
	if ttl <= 0 {
		return nil, fmt.Errorf("a lifetime of %s is not positive", ttl)
	}
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(ttl)
	if template.NotBefore.Before(ca.cert.NotBefore) {
		template.NotBefore = ca.cert.NotBefore
	}
	if template.NotAfter.After(ca.cert.NotAfter) {
		template.NotAfter = ca.cert.NotAfter
	}
	if !template.NotAfter.After(now) {
		return nil, errors.New("the CA certificate has expired, replace it")
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key, ca.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
