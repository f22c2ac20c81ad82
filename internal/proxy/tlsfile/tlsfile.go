package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// parsed are files as they were read the last time.
type parsed[T any] struct {
	mu      sync.Mutex
	changed []time.Time
	value   *T
}

// get returns the value of files, which are parsed again if one has changed. If that fails, the old value stays.
func (p *parsed[T]) get(parse func() (*T, error), files ...string) (*T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := p.value != nil
	times := make([]time.Time, len(files))
	for i, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			if p.value != nil {
				return p.value, nil
			}
			return nil, err
		}
		times[i] = info.ModTime()
		same = same && times[i].Equal(p.changed[i])
	}
	if same {
		return p.value, nil
	}
	value, err := parse()
	if err != nil {
		if p.value != nil {
			return p.value, nil // of two files that change, one may be new already
		}
		return nil, err
	}
	p.value, p.changed = value, times
	return value, nil
}

func pool(name string) (*x509.CertPool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", name)
	}
	return p, nil
}

// Server returns the configuration of a listener. Without a certificate, no handshake succeeds. Protocols are offered
// if the listener names none.
func Server(spec *config.ListenerTLS, protocols []string) (*tls.Config, error) {
	if len(spec.ALPN) > 0 {
		protocols = spec.ALPN
	}
	certificates, cas := newCertificates(spec), new(parsed[x509.CertPool])
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, GetCertificate: certificates.of}
	if certificates.others != nil {
		if _, err := certificates.others.load(); err != nil {
			return nil, fmt.Errorf("tls.certificate: %w", err)
		}
	}
	if spec.ClientCA == "" {
		return c, nil
	}
	clientCAs := func() (*x509.CertPool, error) {
		return cas.get(func() (*x509.CertPool, error) { return pool(spec.ClientCA) }, spec.ClientCA)
	}
	if _, err := clientCAs(); err != nil {
		return nil, fmt.Errorf("tls.client_ca: %w", err)
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if len(spec.Peers) > 0 {
		c.VerifyConnection = func(state tls.ConnectionState) error { return named(state, spec.Peers) }
	}
	base := c.Clone()
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		out := base.Clone()
		if Excepts(spec, hello.Conn.RemoteAddr(), false, hello.ServerName) {
			out.ClientAuth, out.VerifyConnection = tls.NoClientCert, nil
			return out, nil
		}
		var err error
		out.ClientCAs, err = clientCAs()
		return out, err
	}
	return c, nil
}

// Client returns the configuration of a connection to a host. Files are read for each connection. Protocols are offered
// if the cluster names none.
func Client(spec *config.ClusterTLS, host string, protocols []string) (*tls.Config, error) {
	if len(spec.ALPN) > 0 {
		protocols = spec.ALPN
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols, ServerName: spec.ServerName, InsecureSkipVerify: spec.Insecure,
	}
	if c.ServerName == "" {
		c.ServerName = host
	}
	var err, failed error
	if spec.CA != "" {
		c.RootCAs, err = pool(spec.CA)
	}
	if spec.Certificate != "" {
		var one tls.Certificate
		one, failed = tls.LoadX509KeyPair(spec.Certificate, spec.Key)
		c.Certificates = []tls.Certificate{one}
	}
	if len(spec.Peers) > 0 {
		c.InsecureSkipVerify = true // the names are checked instead of the host, and the chain here
		c.VerifyConnection = func(state tls.ConnectionState) error {
			options := x509.VerifyOptions{Roots: c.RootCAs, Intermediates: x509.NewCertPool()}
			for _, one := range state.PeerCertificates[1:] {
				options.Intermediates.AddCert(one)
			}
			if _, err := state.PeerCertificates[0].Verify(options); err != nil {
				return err
			}
			return named(state, spec.Peers)
		}
	}
	return c, errors.Join(err, failed)
}

// named checks that the certificate of the peer has one of some names.
func named(state tls.ConnectionState, peers []string) error {
	leaf := state.PeerCertificates[0]
	names := slices.Clone(leaf.DNSNames)
	for _, u := range leaf.URIs {
		names = append(names, u.String())
	}
	for _, peer := range peers {
		prefix, open := strings.CutSuffix(peer, "*")
		for _, name := range names {
			if name == peer || open && strings.HasPrefix(name, prefix) {
				return nil
			}
		}
	}
	return fmt.Errorf("the certificate has the names %q, none of %q", names, peers)
}
