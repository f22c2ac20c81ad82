package identity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

const (
	// RootLifetime is how long a new self-signed root is valid.
	RootLifetime = 10 * 365 * 24 * time.Hour
	// DefaultLifetime is how long a workload certificate is valid.
	DefaultLifetime = 24 * time.Hour

	// backdate keeps a fresh certificate valid for peers whose clock is behind.
	backdate = 2 * time.Minute
)

// ErrRequest marks a certificate request that its sender has to change.
var ErrRequest = errors.New("bad certificate request")

// CA is the mesh's certificate authority. It holds a signing key, so a value is
// never printed or marshalled except by KeyPEM. It is safe for concurrent use.
type CA struct {
	trustDomain string
	key         crypto.Signer
	cert        *x509.Certificate   // the issuer
	chain       []*x509.Certificate // issuer and up, without self-signed roots: sent after each leaf
	bundle      *Bundle
	now         func() time.Time
}

// NewCA makes an authority with a fresh ECDSA P-256 key and a self-signed root
// that is valid for RootLifetime.
func NewCA(trustDomain string) (*CA, error) { return newCA(trustDomain, time.Now) }

func newCA(trustDomain string, now func() time.Time) (*CA, error) {
	if err := checkTrustDomain(trustDomain); err != nil {
		return nil, fmt.Errorf("new authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("new authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, fmt.Errorf("new authority: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "Anymesh root of " + trustDomain, Organization: []string{"Anymesh"}},
		URIs:                  []*url.URL{{Scheme: "spiffe", Host: trustDomain}}, // X509-SVID 3.1: an authority's ID has no path
		NotBefore:             now().Add(-backdate),
		NotAfter:              now().Add(RootLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true, // it signs leaves only
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("new authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("new authority: %w", err)
	}
	return &CA{trustDomain: trustDomain, key: key, cert: cert, bundle: NewBundle(cert), now: now}, nil
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
	if pub, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !pub.Equal(certs[0].PublicKey) {
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
	_, err = ca.cert.Verify(x509.VerifyOptions{
		Roots: ca.bundle.Pool(), Intermediates: above, CurrentTime: now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil, fmt.Errorf("authority's certificate: its roots do not verify it: %w", err)
	}
	return ca, nil
}

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
	der, err := x509.MarshalPKCS8PrivateKey(ca.key)
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

// newSerial is positive and has 127 random bits (RFC 5280 4.1.2.2: at most 20 octets).
func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil
}
