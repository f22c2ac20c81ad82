package identity

import (
	"bytes"
	"crypto"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// ServerKeyPair is a certificate for the host names of a server with its private key.
type ServerKeyPair struct {
	// CertificatePEM is the leaf followed by the intermediates.
	CertificatePEM []byte
	// KeyPEM is the private key in PKCS #8. It is secret: never log it.
	KeyPEM []byte
	// RootsPEM is the trust bundle.
	RootsPEM []byte
}

// IssueServerKeyPair creates an ECDSA P-256 key and its certificate for at least one DNS name. The certificate has no
// SPIFFE ID and no client authentication usage. ttl must be positive, and is reduced to the remaining lifetime of the
// CA.
func (ca *CA) IssueServerKeyPair(dnsNames []string, ttl time.Duration) (*ServerKeyPair, error) {
	if len(dnsNames) == 0 {
		return nil, errors.New("server certificate: no DNS name given")
	}
	cert, err := issueServingCertificate(ca, dnsNames, ttl)
	if err != nil {
		return nil, fmt.Errorf("server certificate for %s: %w", dnsNames[0], err)
	}
	key, err := encodeKey(cert.PrivateKey.(crypto.Signer))
	if err != nil {
		return nil, fmt.Errorf("server certificate for %s: %w", dnsNames[0], err)
	}
	var chain bytes.Buffer
	for _, der := range cert.Certificate {
		// Writing to a bytes.Buffer cannot fail.
		_ = pem.Encode(&chain, &pem.Block{Type: pemCertificate, Bytes: der})
	}
	return &ServerKeyPair{CertificatePEM: chain.Bytes(), KeyPEM: key, RootsPEM: ca.bundle.PEM()}, nil
}
