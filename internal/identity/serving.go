package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ServingCertificate is the TLS certificate of the control plane. The first handshake after two thirds of its life,
// or after a change of the CA, renews it. It is safe for concurrent use.
type ServingCertificate struct {
	provider CAProvider
	dnsNames []string
	ttl      time.Duration

	mu      sync.Mutex
	cert    *tls.Certificate
	issuer  *CA
	renewAt time.Time
}

// NewServingCertificate creates a serving certificate for at least one DNS name with lifetime ttl. It has no SPIFFE
// ID and no client authentication usage, so that it does not identify a workload.
func NewServingCertificate(authority CAProvider, dnsNames []string, ttl time.Duration) (*ServingCertificate, error) {
	s := &ServingCertificate{provider: authority, dnsNames: dnsNames, ttl: ttl}
	if len(dnsNames) == 0 {
		return nil, errors.New("serving certificate: no DNS name given")
	}
	if _, err := s.currentCertificate(); err != nil {
		return nil, err
	}
	return s, nil
}

// IssueServingCertificate calls NewServingCertificate with this CA and DefaultLifetime.
func (ca *CA) IssueServingCertificate(dnsNames []string) (*ServingCertificate, error) {
	return NewServingCertificate(ca, dnsNames, DefaultLifetime)
}

// NotAfter returns the expiry of the current certificate.
func (s *ServingCertificate) NotAfter() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cert.Leaf.NotAfter
}

// ChainPEM returns the current certificate with its intermediates, in PEM, without the key.
func (s *ServingCertificate) ChainPEM() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []byte
	for _, der := range s.cert.Certificate {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return out
}

// GetCertificate implements tls.Config.GetCertificate.
func (s *ServingCertificate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.currentCertificate()
}

// TLSConfig returns a server configuration with this certificate and at least TLS 1.2, without client authentication.
func (s *ServingCertificate) TLSConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.GetCertificate}
}

// MutualTLSConfig is TLSConfig with client authentication. Each handshake verifies the client certificate with the
// current trust bundle. Sessions are not resumed, so that each connection is verified. With a listener of
// CloseOnCertificateExpiry, the connection is closed when the client certificate expires.
func (s *ServingCertificate) MutualTLSConfig() *tls.Config {
	each := s.TLSConfig()
	each.ClientAuth = tls.RequireAndVerifyClientCert
	each.SessionTicketsDisabled = true
	each.DynamicRecordSizingDisabled = true // a response is of use when it is complete
	all := each.Clone()
	all.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c := each.Clone()
		c.ClientCAs = s.provider.Current().Bundle().Pool()
		if conn, ok := expiringConnOf(hello.Conn); ok {
			c.VerifyConnection = func(st tls.ConnectionState) error {
				conn.closeAt(firstExpiry(st.VerifiedChains))
				return nil
			}
		}
		return c, nil
	}
	return all
}

func firstExpiry(chains [][]*x509.Certificate) time.Time {
	var first time.Time
	for _, chain := range chains[:min(len(chains), 1)] {
		for _, c := range chain {
			if first.IsZero() || c.NotAfter.Before(first) {
				first = c.NotAfter
			}
		}
	}
	return first
}

func (s *ServingCertificate) currentCertificate() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ca := s.provider.Current()
	now := ca.now()
	if s.cert != nil && s.issuer == ca && now.Before(s.renewAt) {
		return s.cert, nil
	}
	cert, err := issueServingCertificate(ca, s.dnsNames, s.ttl)
	if err != nil {
		if s.cert != nil && now.Before(s.cert.Leaf.NotAfter) {
			return s.cert, nil // still valid; the next handshake retries
		}
		return nil, fmt.Errorf("serving certificate for %s: %w", s.dnsNames[0], err)
	}
	s.cert, s.issuer, s.renewAt = cert, ca, RenewAt(now, cert.Leaf.NotAfter)
	return cert, nil
}

func issueServingCertificate(ca *CA, dnsNames []string, ttl time.Duration) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := ca.issue(&x509.Certificate{
		Subject:     pkix.Name{Organization: []string{"Anymesh"}},
		DNSNames:    dnsNames,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key.Public(), ttl)
	if err != nil {
		return nil, err
	}
	out := &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
	for _, c := range append(ca.chain[:len(ca.chain):len(ca.chain)], ca.crossCerts...) {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out, nil
}

// RenewAt returns the time to renew a certificate: after two thirds of the time from now to its expiry.
func RenewAt(now, notAfter time.Time) time.Time {
	return now.Add(notAfter.Sub(now) * 2 / 3)
}
