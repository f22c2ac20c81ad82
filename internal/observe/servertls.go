package observe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"

	"anymesh.dev/anymesh/model"
)

// serverTLS returns the TLS of the servers of a destination: that of the listener of its workload. The pods of a
// destination without a workload, with an identity that the client requires, have this identity and require that of the
// client.
func serverTLS(ix *model.Index, d model.Destination) *model.ServerTLS {
	w, _ := ix.Workload(model.Key{Mesh: d.Mesh, Name: d.Workload})
	for _, l := range w.Listeners {
		if l.Port == d.Port {
			return l.TLS
		}
	}
	if d.TLS == nil || d.Workload != "" || d.TLS.Validation == nil || len(d.TLS.Validation.Names) == 0 {
		return nil
	}
	trust := d.TLS.Validation.TrustSecret
	return &model.ServerTLS{
		Mode:        model.TLSStrict,
		Certificate: &model.Certificate{Secret: model.Secret{Provider: trust.Provider, Name: d.TLS.Validation.Names[0]}},
		Validation:  &model.Validation{TrustSecret: trust},
	}
}

// atEndpoint returns a destination whose servers have the identity of an endpoint, if the client requires that or
// another one.
func atEndpoint(d model.Destination, e model.Endpoint) model.Destination {
	if d.TLS == nil || d.TLS.Validation == nil || !slices.Contains(d.TLS.Validation.Names, e.Identity.String()) {
		return d
	}
	secured, validation := *d.TLS, *d.TLS.Validation
	validation.Names = []string{e.Identity.String()}
	d.TLS, secured.Validation = &secured, &validation
	return d
}

// server returns the TLS configuration of the servers of a destination, or nil if they serve no TLS.
func (c *certificates) server(ix *model.Index, d model.Destination) (*tls.Config, error) {
	s := serverTLS(ix, d)
	switch {
	case s == nil, s.Certificate == nil && s.Mode == model.TLSPermissive:
		return nil, nil
	case s.Certificate == nil:
		refuse := func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errNoCertificate }
		return &tls.Config{GetConfigForClient: refuse}, nil
	}
	issued, err := c.issue(nameOf(*s.Certificate))
	if err != nil {
		return nil, err
	}
	out := &tls.Config{Certificates: []tls.Certificate{issued}}
	if v := s.Validation; v != nil {
		out.ClientCAs, out.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if v.Trust() != "" {
			authority, err := c.authority(authorityOf(*v))
			if err != nil {
				return nil, err
			}
			out.ClientCAs.AddCert(authority)
		}
		out.VerifyConnection = func(s tls.ConnectionState) error { return hasName(s.PeerCertificates[0], v.Names) }
	}
	return out, nil
}

// authorityOf names the authority that a validation trusts.
func authorityOf(v model.Validation) string {
	if domain, is := model.TrustDomainID(v.Trust()); is {
		return domain
	}
	return filepath.Dir(v.Trust())
}

var errNoCertificate = errors.New("the listener has no certificate")

// hasName returns an error if a certificate has none of the names; without names, each certificate is accepted.
func hasName(of *x509.Certificate, names []string) error {
	has := func(name string) bool {
		return slices.Contains(of.DNSNames, name) ||
			slices.ContainsFunc(of.URIs, func(u *url.URL) bool { return u.String() == name })
	}
	if len(names) > 0 && !slices.ContainsFunc(names, has) {
		return fmt.Errorf("the certificate has none of the names %v", names)
	}
	return nil
}
