package pipy

import (
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// The files that the agent renews: the identity of the pod, and the trust bundle of the mesh.
const (
	identityCertificate = sidecar.CertificatesDir + "/tls.crt"
	identityKey         = sidecar.CertificatesDir + "/tls.key"
	identityTrust       = sidecar.CertificatesDir + "/ca.crt"
	// noTrust is a file without a certificate: nobody is trusted.
	noTrust = "/dev/null"
)

// serverTLS returns the TLS of a listener; nil for none. It reports false for a listener that accepts no connection.
func serverTLS(t *model.ServerTLS) (tls *TLS, ok bool) {
	if t == nil {
		return nil, true
	}
	out := &TLS{Mode: string(t.Mode)}
	if t.Certificate == nil || t.Validation != nil && t.Validation.Trust() == "" { // no handshake succeeds
		out.Trusted = noTrust
		return out, t.Mode == model.TLSPermissive
	}
	out.certificate(t.Certificate)
	if v := t.Validation; v != nil {
		out.Trusted, out.Names = trustFile(*v), names(v.Names)
	}
	return out, true
}

// clientTLS returns the TLS of connections to a destination; nil for none.
func clientTLS(t *model.ClientTLS) *TLS {
	if t == nil {
		return nil
	}
	out := &TLS{ServerName: t.ServerName}
	if v := t.Validation; v != nil {
		out.Trusted, out.Names = trustFile(*v), names(v.Names)
	}
	out.certificate(t.Certificate)
	return out
}

// certificate sets the files of a certificate, which may be nil.
func (t *TLS) certificate(c *model.Certificate) {
	switch {
	case c == nil:
	case c.Secret.Provider == model.ProviderMesh:
		t.Certificate, t.Key = identityCertificate, identityKey
	default:
		t.Certificate, t.Key = c.ChainFile, c.KeyFile
	}
}

func trustFile(v model.Validation) string {
	switch {
	case v.TrustSecret.Provider == model.ProviderMesh:
		return identityTrust
	case v.Trust() == "":
		return noTrust
	}
	return v.TrustFile
}

// names returns the DNS names in certificates for names and SPIFFE IDs: the scripts do not see URIs.
func names(all []string) []string {
	var out []string
	for _, name := range all {
		if id, is := model.ParseIdentity(name); is {
			name = id.DNSName()
		}
		out = append(out, name)
	}
	return out
}
