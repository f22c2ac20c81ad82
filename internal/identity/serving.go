package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Serving is the control plane's own TLS certificate, renewed from the
// authority before it expires. It is safe for concurrent use.
type Serving struct {
	ca       *CA
	dnsNames []string
	ttl      time.Duration

	mu    sync.Mutex
	cert  *tls.Certificate
	renew time.Time
}

// IssueServing makes a serving certificate for the given DNS names, at least
// one, valid for DefaultLifetime and renewed at two thirds of it by the first
// handshake after that. It carries no SPIFFE ID and is good for servers only,
// so it can never pass as a workload.
func (ca *CA) IssueServing(dnsNames []string) (*Serving, error) {
	s := &Serving{ca: ca, dnsNames: dnsNames, ttl: DefaultLifetime}
	if len(dnsNames) == 0 {
		return nil, errors.New("serving certificate: no DNS name given")
	}
	if _, err := s.current(); err != nil {
		return nil, err
	}
	return s, nil
}

// GetCertificate is for tls.Config.GetCertificate.
func (s *Serving) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.current() }

// TLS is a server's configuration: TLS 1.3 or 1.2, this certificate, and no
// client authentication.
func (s *Serving) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.GetCertificate}
}

// MutualTLS is TLS that also demands a client certificate which the
// authority's bundle verifies.
func (s *Serving) MutualTLS() *tls.Config {
	c := s.TLS()
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.ClientCAs = s.ca.Bundle().Pool()
	return c
}

func (s *Serving) current() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.ca.now()
	if s.cert != nil && now.Before(s.renew) {
		return s.cert, nil
	}
	cert, err := s.issue()
	if err != nil {
		if s.cert != nil && now.Before(s.cert.Leaf.NotAfter) {
			return s.cert, nil // still good; the next handshake tries again
		}
		return nil, fmt.Errorf("serving certificate for %s: %w", s.dnsNames[0], err)
	}
	s.cert, s.renew = cert, RenewAt(now, cert.Leaf.NotAfter)
	return cert, nil
}

func (s *Serving) issue() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := s.ca.issue(&x509.Certificate{
		Subject:     pkix.Name{Organization: []string{"Anymesh"}},
		DNSNames:    s.dnsNames,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key.Public(), s.ttl)
	if err != nil {
		return nil, err
	}
	out := &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
	for _, c := range s.ca.chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out, nil
}

// RenewAt is when a certificate should be replaced: after two thirds of the
// time between now and its expiry.
func RenewAt(now, notAfter time.Time) time.Time {
	return now.Add(notAfter.Sub(now) * 2 / 3)
}
