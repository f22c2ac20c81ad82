package tlsfile

import (
	"crypto/tls"
	"errors"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// pair is a certificate with its key.
type pair struct {
	parsed           parsed[tls.Certificate]
	certificate, key string
}

// load returns the certificate, as its files have it now.
func (p *pair) load() (*tls.Certificate, error) {
	return p.parsed.get(func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(p.certificate, p.key)
		return &c, err
	}, p.certificate, p.key)
}

// certificates are those of a listener.
type certificates struct {
	byHost map[string]*pair
	others *pair // for all other clients; nil for none
}

func newCertificates(spec *config.ListenerTLS) *certificates {
	out := &certificates{byHost: map[string]*pair{}}
	if spec.Certificate != "" {
		out.others = &pair{certificate: spec.Certificate, key: spec.Key}
	}
	for _, h := range spec.Hosts {
		one := &pair{certificate: h.Certificate, key: h.Key}
		for _, host := range h.Hosts {
			if name := strings.ToLower(host); out.byHost[name] == nil {
				out.byHost[name] = one
			}
		}
	}
	return out
}

var errNoCertificate = errors.New("the listener has no certificate for the client")

// of returns the certificate for a client. Without one, the handshake does not succeed.
func (c *certificates) of(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	one := c.byHost[strings.ToLower(hello.ServerName)]
	if one == nil {
		one = c.others
	}
	if one == nil {
		return nil, errNoCertificate
	}
	return one.load()
}
