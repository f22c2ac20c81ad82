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
	// RootLifetime is the default lifetime of a new root.
	RootLifetime = 365 * 24 * time.Hour
	// DefaultLifetime is the default lifetime of a workload certificate.
	DefaultLifetime = 24 * time.Hour

	// backdate sets NotBefore in the past, for peers whose clocks are behind.
	backdate = 2 * time.Minute
)

// ErrRequest means that the certificate request is invalid.
var ErrRequest = errors.New("bad certificate request")

// errExpired means that the CA certificate has expired, and with it all certificates that it signed.
var errExpired = errors.New("it has expired")

// CAProvider returns the current CA, which changes when the root is rotated. Keep the CAProvider, not the CA.
type CAProvider interface{ Current() *CA }

// CA is a certificate authority. It is immutable and safe for concurrent use. It holds a private key, which only
// KeyPEM returns; formatting or marshaling a CA does not disclose it.
type CA struct {
	trustDomain string
	key         crypto.Signer
	cert        *x509.Certificate   // the issuer
	chain       []*x509.Certificate // issuer and intermediates without self-signed roots; sent after each leaf
	// certificates of the issuer's key signed by earlier roots; sent after serving certificates
	crossCerts []*x509.Certificate
	bundle     *Bundle
	now        func() time.Time
}

// NewCA creates a CA with a new ECDSA P-256 key and a self-signed root with lifetime RootLifetime.
func NewCA(trustDomain string) (*CA, error) { return newCA(trustDomain, time.Now) }

func newCA(trustDomain string, now func() time.Time) (*CA, error) {
	root, err := newRoot(trustDomain, RootLifetime, now())
	if err != nil {
		return nil, err
	}
	return &CA{trustDomain: trustDomain, key: root.key, cert: root.cert, bundle: NewBundle(root.cert), now: now}, nil
}

// LoadCA decodes a CA: the certificate of the issuer followed by its intermediates, the private key of the issuer
// (PKCS #8 or SEC 1), and the trusted roots. Empty roots mean the self-signed certificates of the chain. It fails if
// the key does not match the certificate, if the issuer is not a valid CA now, or if the roots do not verify it.
func LoadCA(trustDomain string, certPEM, keyPEM, rootsPEM []byte) (*CA, error) {
	return loadCA(trustDomain, certPEM, keyPEM, rootsPEM, time.Now)
}

func loadCA(trustDomain string, certPEM, keyPEM, rootsPEM []byte, now func() time.Time) (*CA, error) {
	if err := checkTrustDomain(trustDomain); err != nil {
		return nil, fmt.Errorf("CA: %w", err)
	}
	certs, err := parseCertificates(certPEM)
	if err != nil {
		return nil, fmt.Errorf("CA certificate: %w", err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("CA key: %w", err)
	}
	if !keyMatches(key, certs[0]) {
		return nil, errors.New("CA key: it does not match the certificate")
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
			return nil, fmt.Errorf("CA roots: %w", err)
		}
	case len(selfSigned) > 0:
		ca.bundle = NewBundle(selfSigned...)
	default:
		return nil, errors.New("CA roots: none given, and the chain has no self-signed certificate")
	}
	if c := ca.cert; !c.IsCA || c.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, fmt.Errorf("CA certificate: %s may not sign certificates", c.Subject)
	}
	if now().After(ca.cert.NotAfter) {
		return nil, fmt.Errorf("CA certificate: %w on %s", errExpired, ca.cert.NotAfter.UTC().Format(time.RFC3339))
	}
	_, err = ca.cert.Verify(x509.VerifyOptions{
		Roots: ca.bundle.Pool(), Intermediates: above, CurrentTime: now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil, fmt.Errorf("CA certificate: its roots do not verify it: %w", err)
	}
	return ca, nil
}

// Current returns the CA itself: an immutable CA is its own CAProvider.
func (ca *CA) Current() *CA { return ca }

// String returns a name without the key, for all verbs of fmt.
func (ca *CA) String() string { return "CA of " + ca.trustDomain }

// GoString returns String.
func (ca *CA) GoString() string { return ca.String() }

// TrustDomain returns the SPIFFE trust domain of the CA.
func (ca *CA) TrustDomain() string { return ca.trustDomain }

// Bundle returns the roots that verify certificates of the CA.
func (ca *CA) Bundle() *Bundle { return ca.bundle }

// CertificatePEM returns the certificate of the issuer with its intermediates, as input of LoadCA.
func (ca *CA) CertificatePEM() []byte {
	if len(ca.chain) > 0 {
		return encodeCertificates(ca.chain)
	}
	return encodeCertificates([]*x509.Certificate{ca.cert})
}

// IssuerPEM returns the certificate of the issuer.
func (ca *CA) IssuerPEM() []byte { return encodeCertificates([]*x509.Certificate{ca.cert}) }

// KeyPEM returns the private key, as input of LoadCA. It is secret: never log it.
func (ca *CA) KeyPEM() ([]byte, error) {
	return encodeKey(ca.key)
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("CA key: %w", err)
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
