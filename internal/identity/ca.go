package identity

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

const (
	// RootLifetime is how long a new self-signed root is valid, unless told otherwise.
	RootLifetime = 365 * 24 * time.Hour
	// DefaultLifetime is how long a workload certificate is valid.
	DefaultLifetime = 24 * time.Hour

	// backdate keeps a fresh certificate valid for peers whose clock is behind.
	backdate = 2 * time.Minute
)

// ErrRequest marks a certificate request that its sender has to change.
var ErrRequest = errors.New("bad certificate request")

// errExpired marks an authority whose certificate has expired; nothing that it signed is valid any more.
var errExpired = errors.New("it has expired")

// Authority gives the CA of the moment, which changes when the root is rotated. Keep the Authority, not the CA.
type Authority interface{ Current() *CA }

// CA is the mesh's certificate authority at one moment: it does not change once
// made. It holds a signing key, so a value is never printed or marshalled except
// by KeyPEM. It is safe for concurrent use.
type CA struct {
	trustDomain string
	key         crypto.Signer
	cert        *x509.Certificate   // the issuer
	chain       []*x509.Certificate // issuer and up, without self-signed roots: sent after each leaf
	cross       []*x509.Certificate // the issuer's key, vouched for by roots before it: sent after our own serving certificates
	bundle      *Bundle
	now         func() time.Time
}

// NewCA makes an authority with a fresh ECDSA P-256 key and a self-signed root
// that is valid for RootLifetime.
func NewCA(trustDomain string) (*CA, error) { return newCA(trustDomain, time.Now) }

func newCA(trustDomain string, now func() time.Time) (*CA, error) {
	root, err := newRoot(trustDomain, RootLifetime, now())
	if err != nil {
		return nil, err
	}
	return &CA{trustDomain: trustDomain, key: root.key, cert: root.cert, bundle: NewBundle(root.cert), now: now}, nil
}

// LoadCA reads an authority: the issuer's certificate followed by its
// intermediates if any, the issuer's private key (PKCS #8, or EC as openssl
// writes it), and the trusted roots. Empty roots mean the self-signed
// certificates of the chain. It fails when key and certificate do not belong
// together, when the issuer is not a valid authority now, or when the roots do
// not verify it.
func LoadCA(trustDomain string, certPEM, keyPEM, rootsPEM []byte) (*CA, error) {
	return loadCA(trustDomain, certPEM, keyPEM, rootsPEM, time.Now)
}

func loadCA(trustDomain string, certPEM, keyPEM, rootsPEM []byte, now func() time.Time) (*CA, error) {
	if err := checkTrustDomain(trustDomain); err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	certs, err := parseCertificates(certPEM)
	if err != nil {
		return nil, fmt.Errorf("authority's certificate: %w", err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("authority's key: %w", err)
	}
	if !belongs(key, certs[0]) {
		return nil, errors.New("authority's key: it does not belong to the certificate")
	}
	ca := &CA{trustDomain: trustDomain, key: key, cert: certs[0], now: now}
	var selfSigned []*x509.Certificate
	above := x509.NewCertPool()
	for _, c := range certs {
		if bytes.Equal(c.RawIssuer, c.RawSubject) {
			selfSigned = append(selfSigned, c)
			continue
		}
		ca.chain = append(ca.chain, c)
		above.AddCert(c)
	}
	switch {
	case len(rootsPEM) > 0:
		if ca.bundle, err = ParseBundle(rootsPEM); err != nil {
			return nil, fmt.Errorf("authority's roots: %w", err)
		}
	case len(selfSigned) > 0:
		ca.bundle = NewBundle(selfSigned...)
	default:
		return nil, errors.New("authority's roots: none given, and the chain has no self-signed certificate")
	}
	if c := ca.cert; !c.IsCA || c.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, fmt.Errorf("authority's certificate: %s may not sign certificates", c.Subject)
	}
	if now().After(ca.cert.NotAfter) {
		return nil, fmt.Errorf("authority's certificate: %w on %s", errExpired, ca.cert.NotAfter.UTC().Format(time.RFC3339))
	}
	_, err = ca.cert.Verify(x509.VerifyOptions{
		Roots: ca.bundle.Pool(), Intermediates: above, CurrentTime: now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil, fmt.Errorf("authority's certificate: its roots do not verify it: %w", err)
	}
	return ca, nil
}

// Current is the CA itself: one that never changes is its own Authority.
func (ca *CA) Current() *CA { return ca }

// String names the authority without its key, whatever the verb.
func (ca *CA) String() string { return "authority of " + ca.trustDomain }

// GoString is String.
func (ca *CA) GoString() string { return ca.String() }

// TrustDomain is the SPIFFE trust domain the authority speaks for.
func (ca *CA) TrustDomain() string { return ca.trustDomain }

// Bundle is what verifies the authority's certificates.
func (ca *CA) Bundle() *Bundle { return ca.bundle }

// CertificatePEM is the issuer's certificate with its intermediates, as LoadCA reads it.
func (ca *CA) CertificatePEM() []byte {
	if len(ca.chain) > 0 {
		return encodeCertificates(ca.chain)
	}
	return encodeCertificates([]*x509.Certificate{ca.cert})
}

// KeyPEM is the private key as LoadCA reads it. It is a secret: store it, never log it.
func (ca *CA) KeyPEM() ([]byte, error) {
	return encodeKey(ca.key)
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("authority's key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der}), nil
}

func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("not PEM")
	}
	if block.Type == "EC PRIVATE KEY" {
		return x509.ParseECPrivateKey(block.Bytes)
	}
	if block.Type != pemKey {
		return nil, fmt.Errorf("the PEM block is a %q, want %q", block.Type, pemKey)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("key type %T cannot sign", key)
	}
	if err := checkKey(signer.Public()); err != nil {
		return nil, err
	}
	return signer, nil
}
