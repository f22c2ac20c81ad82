package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// issuedLabel marks the Secrets that the built-in authority writes.
	issuedLabel = "anymesh.dev/issued-by"
	issuedValue = "anymesh"
	// caKey is the key of the roots, as cert-manager names it.
	caKey = "ca.crt"
)

// issuerAnnotations say who issued a Secret. Without them, cert-manager keeps a valid certificate of the built-in
// authority when the Route names an issuer.
var issuerAnnotations = map[string]string{
	"cert-manager.io/issuer-name": "anymesh", "cert-manager.io/issuer-kind": "BuiltIn",
	"cert-manager.io/issuer-group": "anymesh.dev",
}

// parse returns the leaf of a Secret whose key matches it.
func parse(secret *corev1.Secret) (*x509.Certificate, error) {
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(secret.Data[key]) == 0 {
			return nil, fmt.Errorf("the key %s is missing", key)
		}
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "tls: "))
	}
	return pair.Leaf, nil
}

// covers returns nil if a certificate is valid now for a host, which may begin with "*.".
func covers(leaf *x509.Certificate, host string, now time.Time) error {
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("the certificate expired on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	for _, name := range leaf.DNSNames {
		if strings.EqualFold(name, host) {
			return nil
		}
	}
	if strings.HasPrefix(host, "*.") {
		return fmt.Errorf("the certificate is for %s", strings.Join(leaf.DNSNames, ", "))
	}
	return leaf.VerifyHostname(host)
}

// renewal returns the time at which the certificate of the built-in authority in a Secret has to be renewed: after two
// thirds of its life. The error is why the certificate is of no use.
func renewal(r Request, secret *corev1.Secret, roots *x509.CertPool, now time.Time) (time.Time, error) {
	if secret == nil {
		return time.Time{}, errors.New("it does not exist")
	}
	leaf, err := parse(secret)
	if err != nil {
		return time.Time{}, err
	}
	if err := covers(leaf, r.Host, now); err != nil {
		return time.Time{}, err
	}
	above := x509.NewCertPool()
	above.AppendCertsFromPEM(secret.Data[corev1.TLSCertKey])
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: above, CurrentTime: now})
	if err != nil {
		return time.Time{}, errors.New("its certificate is not of the built-in authority")
	}
	if secret.Labels[issuedLabel] != issuedValue || secret.Annotations[certificateAnnotation] != "" {
		return time.Time{}, errors.New("it is marked as a Secret of cert-manager")
	}
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3), nil
}
