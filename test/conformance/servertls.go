package conformance

import (
	"crypto/tls"
	"crypto/x509"
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
	if s == nil || s.Certificate == nil {
		return nil, nil
	}
	issued, err := c.issue(nameOf(*s.Certificate))
	if err != nil {
		return nil, err
	}
	out := &tls.Config{Certificates: []tls.Certificate{issued}}
	if d.Workload == "" && s.Validation != nil {
		authority, err := c.authority(s.Validation.Trust())
		if err != nil {
			return nil, err
		}
		out.ClientCAs, out.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		out.ClientCAs.AddCert(authority)
	}
	return out, nil
}
