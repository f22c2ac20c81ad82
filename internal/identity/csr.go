package identity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// MaxRequestSize is the largest accepted certificate request, in bytes of PEM.
const MaxRequestSize = 16 << 10

// Accepted RSA moduli, in bits. Smaller ones are weak; for larger ones, checking the signature costs the server more
// than the client.
const (
	minRSA = 2048
	maxRSA = 8192
)

// publicKeyOf returns the public key of a certificate request after verifying that the sender has the private key.
// Names and extensions are ignored.
func publicKeyOf(csrPEM []byte) (crypto.PublicKey, error) {
	if len(csrPEM) > MaxRequestSize {
		return nil, fmt.Errorf("certificate request: %d bytes, at most %d are allowed", len(csrPEM), MaxRequestSize)
	}
	block, rest := pem.Decode(csrPEM)
	switch {
	case block == nil:
		return nil, errors.New("certificate request: not PEM")
	case block.Type != pemRequest:
		return nil, fmt.Errorf("certificate request: the PEM block is a %q, want %q", block.Type, pemRequest)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("certificate request: more than one PEM block")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	// The key is checked before the signature, which limits the cost of the signature check.
	if err := checkKey(csr.PublicKey); err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("certificate request: the signature does not prove possession of the key: %w", err)
	}
	return csr.PublicKey, nil
}

func checkKey(key crypto.PublicKey) error {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() && k.Curve != elliptic.P384() {
			return fmt.Errorf("curve %s is not accepted, use P-256 or P-384", k.Curve.Params().Name)
		}
	case ed25519.PublicKey:
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minRSA || n > maxRSA {
			return fmt.Errorf("an RSA key of %d bits is not accepted, use %d to %d", n, minRSA, maxRSA)
		}
	default:
		return fmt.Errorf("key type %T is not accepted, use ECDSA P-256, P-384, Ed25519 or RSA", key)
	}
	return nil
}
