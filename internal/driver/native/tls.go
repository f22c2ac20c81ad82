package native

import (
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// The files that the agent renews: the identity of the pod, and the trust bundle of the mesh.
var identityCertificate = model.Certificate{
	ChainFile: sidecar.CertificatesDir + "/tls.crt", KeyFile: sidecar.CertificatesDir + "/tls.key",
}

const (
	identityTrust = sidecar.CertificatesDir + "/ca.crt"
	// noTrust is a file without a certificate: nobody is trusted.
	noTrust = "/dev/null"
)

func certificateFiles(c model.Certificate) model.Certificate {
	if c.Secret.Provider == model.ProviderMesh {
		return identityCertificate
	}
	return c
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

// serverTLS returns the TLS of a listener; nil for none. It reports false for a listener that accepts no connection.
func serverTLS(t *model.ServerTLS) (tls *config.ListenerTLS, ok bool) {
	if t == nil {
		return nil, true
	}
	none := t.Certificate == nil && len(t.Hosts) == 0
	if none || t.Validation != nil && t.Validation.Trust() == "" { // no handshake succeeds
		return &config.ListenerTLS{Permissive: true}, t.Mode == model.TLSPermissive
	}
	tls = &config.ListenerTLS{Permissive: t.Mode == model.TLSPermissive}
	if t.Certificate != nil {
		c := certificateFiles(*t.Certificate)
		tls.Certificate, tls.Key = c.ChainFile, c.KeyFile
	}
	for _, h := range t.Hosts {
		c := certificateFiles(h.Certificate)
		tls.Hosts = append(tls.Hosts, config.HostCertificate{Hosts: h.Hosts, Certificate: c.ChainFile, Key: c.KeyFile})
	}
	if v := t.Validation; v != nil {
		tls.ClientCA, tls.Peers = trustFile(*v), v.Names
	}
	return tls, true
}

// clientTLS returns the TLS of connections to a destination; nil for none.
func clientTLS(t *model.ClientTLS) *config.ClusterTLS {
	if t == nil {
		return nil
	}
	out := &config.ClusterTLS{ServerName: t.ServerName, Insecure: t.Validation == nil}
	if v := t.Validation; v != nil {
		out.CA, out.Peers = trustFile(*v), v.Names
		if len(v.Names) == 0 {
			out.Peers = []string{"*"}
		}
	}
	if t.Certificate != nil {
		c := certificateFiles(*t.Certificate)
		out.Certificate, out.Key = c.ChainFile, c.KeyFile
	}
	return out
}
