package envoy

import (
	"crypto/sha256"
	"path/filepath"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Certificates in files are secrets of the secret discovery service: Envoy then reads the files again when their
// directory changes. The secrets contain the names of the files only.

// serverSocket returns the TLS socket of a listener with a certificate, and its secrets.
func serverSocket(l model.Listener) (*corev3.TransportSocket, []sidecar.Resource) {
	context, secrets := tlsContext("ingress", l.Protocol, l.TLS.Certificate, l.TLS.Validation, l.TLS.Origin)
	return transportSocket(&tlsv3.DownstreamTlsContext{
		CommonTlsContext:         context,
		RequireClientCertificate: wrapperspb.Bool(l.TLS.Validation != nil),
	}), secrets
}

// clientSocket returns the TLS socket of connections to a destination, and its secrets.
func clientSocket(d model.Destination) (*corev3.TransportSocket, []sidecar.Resource) {
	context, secrets := tlsContext("egress", d.Protocol, d.TLS.Certificate, d.TLS.Validation, model.Origin{})
	return transportSocket(&tlsv3.UpstreamTlsContext{CommonTlsContext: context, Sni: d.TLS.ServerName}), secrets
}

func transportSocket(context proto.Message) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: typedConfig(context)},
	}
}

// tlsContext returns a TLS context, and its secrets, whose names begin with the direction of the connections: the two
// sides of a sidecar may use the same files.
func tlsContext(direction string, p model.Protocol, c *model.Certificate, v *model.Validation,
	origin model.Origin) (*tlsv3.CommonTlsContext, []sidecar.Resource) {
	out := &tlsv3.CommonTlsContext{AlpnProtocols: applicationProtocols(p)}
	var secrets []sidecar.Resource
	if c != nil {
		name := "sds_" + direction + "_certificate_" + c.ChainFile + "~" + c.KeyFile
		out.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{secretConfig(name)}
		secrets = append(secrets, newResource(name, &tlsv3.Secret{
			Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
				CertificateChain: file(c.ChainFile), PrivateKey: file(c.KeyFile), WatchedDirectory: directory(c.ChainFile),
			}},
		}, origin))
	}
	if v != nil && v.TrustFile == "" {
		out.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{
			ValidationContext: &tlsv3.CertificateValidationContext{VerifyCertificateHash: []string{noCertificate}},
		}
	} else if v != nil {
		name := "sds_" + direction + "_trust_" + v.TrustFile
		out.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
			CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext:         &tlsv3.CertificateValidationContext{MatchTypedSubjectAltNames: nameMatchers(v.Names)},
				ValidationContextSdsSecretConfig: secretConfig(name),
			},
		}
		secrets = append(secrets, newResource(name, &tlsv3.Secret{
			Name: name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
				TrustedCa: file(v.TrustFile), WatchedDirectory: directory(v.TrustFile),
			}},
		}, origin))
	}
	return out, secrets
}

// noCertificate is the hash of no certificate.
var noCertificate = strings.Repeat("00", sha256.Size)

// addClientSecrets adds the secrets of the connections to destinations.
func (r *renderer) addClientSecrets(all []model.Destination) {
	for _, d := range all {
		if d.TLS != nil && (d.TLS.Certificate != nil || d.TLS.Validation != nil) {
			_, secrets := clientSocket(d)
			r.addSecrets(secrets)
		}
	}
}

// applicationProtocols are the protocols of ALPN, the preferred one first.
func applicationProtocols(p model.Protocol) []string {
	switch {
	case !p.Requests():
		return nil
	case p.Multiplexed():
		return []string{"h2", "http/1.1"}
	}
	return []string{"http/1.1"}
}

func secretConfig(name string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: adsConfigSource()}
}

func file(name string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: name}}
}

// directory is what Envoy watches: the files of a mounted Secret change when a link in it is replaced.
func directory(file string) *corev3.WatchedDirectory {
	return &corev3.WatchedDirectory{Path: filepath.Dir(file)}
}

// nameMatchers match subject alternative names: URIs have a scheme, others are DNS names.
func nameMatchers(names []string) []*tlsv3.SubjectAltNameMatcher {
	var out []*tlsv3.SubjectAltNameMatcher
	for _, n := range names {
		kind := tlsv3.SubjectAltNameMatcher_DNS
		if strings.Contains(n, "://") {
			kind = tlsv3.SubjectAltNameMatcher_URI
		}
		out = append(out, &tlsv3.SubjectAltNameMatcher{SanType: kind, Matcher: &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_Exact{Exact: n},
		}})
	}
	return out
}
