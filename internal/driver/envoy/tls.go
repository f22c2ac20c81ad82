package envoy

import (
	"crypto/sha256"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// serverSocket returns the TLS socket of a listener with one of its certificates, and its secrets, which are of an
// origin.
func (r *renderer) serverSocket(l model.Listener, c model.Certificate,
	origin model.Origin) (*corev3.TransportSocket, []sidecar.Resource) {
	context, secrets := tlsContext("ingress", l.Protocol, &c, l.TLS.Validation, origin)
	if v := l.TLS.Validation; v != nil && len(v.Names) > 0 && v.TrustSecret.Provider == model.ProviderMesh {
		secrets[len(secrets)-1] = r.trustOfPeers(context.GetCombinedValidationContext(), v.Names, origin)
	}
	return transportSocket(&tlsv3.DownstreamTlsContext{
		CommonTlsContext:         context,
		RequireClientCertificate: wrapperspb.Bool(l.TLS.Validation != nil),
	}), secrets
}

// trustOfPeers makes names in aliases of the trust domain a part of the secret with the trusted authorities, which it
// returns: a change of a filter chain closes its connections, and the aliases change while the root is rotated.
func (r *renderer) trustOfPeers(v *tlsv3.CommonTlsContext_CombinedCertificateValidationContext, names []string,
	origin model.Origin) sidecar.Resource {
	aliases, rest := r.view.Mesh.Aliases(names)
	v.DefaultValidationContext.MatchTypedSubjectAltNames = nameMatchers(rest)
	v.ValidationContextSdsSecretConfig.Name += "~" + model.Hash(rest)
	secret := trustFiles(v.ValidationContextSdsSecretConfig.Name, identityTrust)
	secret.GetValidationContext().MatchTypedSubjectAltNames = nameMatchers(aliases)
	return newResource(secret.Name, secret, origin)
}

// clientSocket returns the TLS socket of connections to a destination, and its secrets.
func clientSocket(d model.Destination) (*corev3.TransportSocket, []sidecar.Resource) {
	context, secrets := tlsContext("egress", d.Protocol, d.TLS.Certificate, d.TLS.Validation, model.Origin{})
	return transportSocket(&tlsv3.UpstreamTlsContext{
		CommonTlsContext: context, Sni: d.TLS.ServerName,
		MaxSessionKeys: wrapperspb.UInt32(0), // each connection verifies the server, and pipy refuses resumed sessions
	}), secrets
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
		config, own := certificateSecret(direction, *c, origin)
		out.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{config}
		secrets = append(secrets, own...)
	}
	if v != nil && v.Trust() == "" {
		out.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{
			ValidationContext: &tlsv3.CertificateValidationContext{VerifyCertificateHash: []string{noCertificate}},
		}
	} else if v != nil {
		config, trust := trustSecret(direction, *v, origin)
		out.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
			CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext:         &tlsv3.CertificateValidationContext{MatchTypedSubjectAltNames: nameMatchers(v.Names)},
				ValidationContextSdsSecretConfig: config,
			},
		}
		secrets = append(secrets, trust...)
	}
	return out, secrets
}

// certificateSecret returns how Envoy gets a certificate, and the secret if the control plane serves it. Of a Secret,
// it is what the agent rejects if there is no certificate.
func certificateSecret(direction string, c model.Certificate,
	origin model.Origin) (*tlsv3.SdsSecretConfig, []sidecar.Resource) {
	switch c.Secret.Provider {
	case model.ProviderSocket:
		return socketSecret(c.Secret.Name), nil
	case model.ProviderKubernetes:
		config := socketSecret(sidecar.KubernetesSecretPrefix + c.Secret.Name)
		return config, []sidecar.Resource{newResource(config.Name, config, origin)}
	case model.ProviderMesh:
		c = identityCertificate
	}
	name := "sds_" + direction + "_certificate_" + c.ChainFile + "~" + c.KeyFile
	return secretConfig(name), []sidecar.Resource{newResource(name, certificateFiles(name, c), origin)}
}

// trustSecret returns how Envoy gets trusted authorities, and the secret if the control plane serves it.
func trustSecret(direction string, v model.Validation,
	origin model.Origin) (*tlsv3.SdsSecretConfig, []sidecar.Resource) {
	switch v.TrustSecret.Provider {
	case model.ProviderSocket:
		return socketSecret(v.TrustSecret.Name), nil
	case model.ProviderMesh:
		v.TrustFile = identityTrust
	}
	name := "sds_" + direction + "_trust_" + v.TrustFile
	return secretConfig(name), []sidecar.Resource{newResource(name, trustFiles(name, v.TrustFile), origin)}
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
