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

// Serving is the control plane's own TLS certificate. The first handshake after
// two thirds of its life, or after the authority has changed, makes a new one.
// It is safe for concurrent use.
type Serving struct {
	authority Authority
	dnsNames  []string
	ttl       time.Duration

	mu     sync.Mutex
	cert   *tls.Certificate
	issuer *CA
	renew  time.Time
}

// NewServing makes a serving certificate for the given DNS names, at least
// one, valid for ttl. It carries no SPIFFE ID and is good for servers only, so
// it can never pass as a workload.
func NewServing(authority Authority, dnsNames []string, ttl time.Duration) (*Serving, error) {
	s := &Serving{authority: authority, dnsNames: dnsNames, ttl: ttl}
	if len(dnsNames) == 0 {
		return nil, errors.New("serving certificate: no DNS name given")
	}
	if _, err := s.current(); err != nil {
		return nil, err
	}
	return s, nil
}

// IssueServing is NewServing for an authority that does not change, with DefaultLifetime.
func (ca *CA) IssueServing(dnsNames []string) (*Serving, error) {
	return NewServing(ca, dnsNames, DefaultLifetime)
}

// NotAfter is when the certificate that is served now expires.
func (s *Serving) NotAfter() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cert.Leaf.NotAfter
}

// GetCertificate is for tls.Config.GetCertificate.
func (s *Serving) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.current() }

// TLS is a server's configuration: TLS 1.3 or 1.2, this certificate, and no
// client authentication.
func (s *Serving) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.GetCertificate}
}

// MutualTLS is TLS that also demands a client certificate which the
// authority's bundle verifies: the bundle of the moment, at each handshake.
// Sessions are not resumed, so that who is at the other end was always verified
// now. Behind EndWithCertificate, a connection ends with the client's certificate.
func (s *Serving) MutualTLS() *tls.Config {
	each := s.TLS()
	each.ClientAuth = tls.RequireAndVerifyClientCert
	each.SessionTicketsDisabled = true
	all := each.Clone()
	all.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c := each.Clone()
		c.ClientCAs = s.authority.Current().Bundle().Pool()
		if conn, ok := endingConnOf(hello.Conn); ok {
			c.VerifyConnection = func(st tls.ConnectionState) error {
				conn.endAt(firstExpiry(st.VerifiedChains))
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

func (s *Serving) current() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ca := s.authority.Current()
	now := ca.now()
	if s.cert != nil && s.issuer == ca && now.Before(s.renew) {
		return s.cert, nil
	}
	cert, err := issueServing(ca, s.dnsNames, s.ttl)
	if err != nil {
		if s.cert != nil && now.Before(s.cert.Leaf.NotAfter) {
			return s.cert, nil // still good; the next handshake tries again
		}
		return nil, fmt.Errorf("serving certificate for %s: %w", s.dnsNames[0], err)
	}
	s.cert, s.issuer, s.renew = cert, ca, RenewAt(now, cert.Leaf.NotAfter)
	return cert, nil
}

func issueServing(ca *CA, dnsNames []string, ttl time.Duration) (*tls.Certificate, error) {
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
	for _, c := range append(ca.chain[:len(ca.chain):len(ca.chain)], ca.cross...) {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out, nil
}

// RenewAt is when a certificate should be replaced: after two thirds of the
// time between now and its expiry.
func RenewAt(now, notAfter time.Time) time.Time {
	return now.Add(notAfter.Sub(now) * 2 / 3)
}
