package model

import (
	"fmt"
	"slices"
	"strings"
)

// TLSMode is what a listener with a certificate accepts.
type TLSMode string

const (
	// TLSStrict accepts connections with TLS only.
	TLSStrict TLSMode = "Strict"
	// TLSPermissive accepts connections with TLS and without.
	TLSPermissive TLSMode = "Permissive"
)

// ServerTLS is how a listener serves TLS.
type ServerTLS struct {
	Mode TLSMode `json:"mode"`
	// Certificate is the certificate of the server, for server names that are not in Hosts. Without it, their handshakes
	// do not succeed.
	Certificate *Certificate `json:"certificate,omitempty"`
	// Hosts are certificates for server names.
	Hosts []HostCertificate `json:"hosts,omitempty"`
	// Validation is what the certificates of clients must satisfy. Without it, clients present none.
	Validation *Validation `json:"validation,omitempty"`
	Origin     Origin      `json:"origin,omitzero"`
}

// HostCertificate is a certificate for clients that name one of the hosts in their handshake.
type HostCertificate struct {
	// Hosts are host names in lower case, in order; no two HostCertificates of a listener have the same.
	Hosts       []string    `json:"hosts"`
	Certificate Certificate `json:"certificate"`
	Origin      Origin      `json:"origin,omitzero"`
}

// CertificateOf returns the certificate for a server name, which may be empty, or nil if there is none.
func (s *ServerTLS) CertificateOf(serverName string) *Certificate {
	for i, h := range s.Hosts {
		if slices.Contains(h.Hosts, strings.ToLower(serverName)) {
			return &s.Hosts[i].Certificate
		}
	}
	return s.Certificate
}

// ClientTLS is how connections to a destination use TLS.
type ClientTLS struct {
	// Required is true if the client policy does not allow connections without TLS.
	Required bool `json:"required,omitempty"`
	// ServerName is the SNI, and empty for none.
	ServerName string `json:"serverName,omitempty"`
	// Validation is what the certificate of the server must satisfy. Without it, every certificate is accepted.
	Validation *Validation `json:"validation,omitempty"`
	// Certificate is the certificate of the client, if it has one.
	Certificate *Certificate `json:"certificate,omitempty"`
}

// Handshake is the TLS handshake of a client.
type Handshake struct {
	// Authority is the trust whose authorities issued the certificate of the client, as Validation.Trust returns it. It
	// is empty if the client has no certificate.
	Authority string `json:"authority,omitempty"`
	// Names are the subject alternative names of the certificate.
	Names []string `json:"names,omitempty"`
}

// handshake reports whether the listener accepts the connection.
func (d *Decision) handshake(l Listener) bool {
	if l.TLS == nil && !l.Protocol.Requests() {
		return true // the application serves TLS, or not
	}
	accepted, why := l.TLS.accepts(d.Request.TLS, d.Request.ServerName)
	if why != "" {
		at := l.Origin
		if l.TLS != nil {
			at = l.TLS.Origin
		}
		d.step(at, "%s", why)
	}
	return accepted
}

// accepts reports whether the listener accepts a connection with the handshake, or without TLS if it is nil, and why.
func (s *ServerTLS) accepts(h *Handshake, serverName string) (ok bool, why string) {
	switch {
	case s == nil && h == nil:
		return true, ""
	case s == nil:
		return false, "the listener does not serve TLS"
	case h == nil && s.Mode == TLSPermissive:
		return true, "the listener accepts connections without TLS"
	case h == nil:
		return false, "the listener requires TLS"
	case s.CertificateOf(serverName) == nil && len(s.Hosts) > 0:
		return false, fmt.Sprintf("the listener has no certificate for server name %q", serverName)
	case s.CertificateOf(serverName) == nil:
		return false, "the listener has no certificate"
	case s.Validation == nil:
		return true, "the listener serves TLS"
	}
	return s.Validation.accepts(h)
}

// Connect reports whether connections of a client to a listener succeed, and why. Either may be nil, for no TLS. read
// returns what is in a certificate.
func Connect(client *ClientTLS, server *ServerTLS, read func(Certificate) Handshake) (ok bool, why string) {
	if client == nil {
		return server.accepts(nil, "")
	}
	var own Handshake
	if client.Certificate != nil {
		own = read(*client.Certificate)
	}
	if ok, why = server.accepts(&own, client.ServerName); !ok || client.Validation == nil {
		return ok, why
	}
	return client.Accepts(read(*server.CertificateOf(client.ServerName)))
}

// Accepts reports whether the client accepts the certificate of a server, and why.
func (c *ClientTLS) Accepts(server Handshake) (ok bool, why string) {
	if c.Validation == nil {
		return true, "each certificate is accepted"
	}
	return c.Validation.accepts(&server)
}

// accepts reports whether a certificate satisfies the validation, and why.
func (v *Validation) accepts(h *Handshake) (ok bool, why string) {
	switch trust := v.Trust(); {
	case trust == "":
		return false, "no authority is trusted"
	case h.Authority == "":
		return false, "the peer has no certificate"
	case h.Authority != trust:
		return false, fmt.Sprintf("no authority in %s issued the certificate", trust)
	case len(v.Names) > 0 && !slices.ContainsFunc(h.Names, func(n string) bool { return slices.Contains(v.Names, n) }):
		return false, fmt.Sprintf("the certificate has none of the names %s", strings.Join(v.Names, ", "))
	}
	return true, "the certificate is valid"
}

// ClientPolicy is how a workload connects to its backends.
type ClientPolicy struct {
	// Enforce requires TLS. Otherwise, TLS is used if the server serves it.
	Enforce bool `json:"enforce,omitempty"`
	// Ports are the ports of destinations to which Enforce applies, sorted; none means all.
	Ports []uint16 `json:"ports,omitempty"`
	// Validation is what the certificates of servers must satisfy. Without names, they need the name of the destination.
	Validation *Validation `json:"validation,omitempty"`
	// Certificate is the certificate that the workload presents, if it has one.
	Certificate *Certificate `json:"certificate,omitempty"`
}

// tls returns the TLS of connections to a destination under the policy, which may be nil.
func (p *ClientPolicy) tls(d *Destination) *ClientTLS {
	if p == nil {
		return d.TLS
	}
	enforced := p.Enforce && (len(p.Ports) == 0 || slices.Contains(p.Ports, d.Port))
	if d.TLS == nil && !enforced {
		return nil
	}
	out := &ClientTLS{Required: enforced, ServerName: d.Discovery.ServerName(), Certificate: p.Certificate}
	if p.Validation != nil {
		v := *p.Validation
		if len(v.Names) == 0 && out.ServerName != "" {
			v.Names = []string{out.ServerName}
		}
		out.Validation = &v
	}
	return out
}

// ServerName returns the name of the endpoints: their host name, or their name in a service registry. It is empty if
// they have none.
func (d Discovery) ServerName() string {
	if d.Kind == DiscoverInstances {
		return d.DNSName
	}
	return d.Hostname
}
