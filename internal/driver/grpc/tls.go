package grpc

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// unsupportedTLS says why gRPC libraries cannot connect with TLS as asked for, or returns "".
func unsupportedTLS(t *model.ClientTLS) string {
	switch {
	case t == nil:
		return ""
	case t.Validation == nil:
		return "gRPC libraries always validate certificates of servers"
	case t.Validation.TrustSecret.Provider != model.ProviderMesh:
		return "only the authority of the mesh can be trusted"
	case t.Certificate != nil && t.Certificate.Secret.Provider != model.ProviderMesh:
		return "only the certificate of the mesh can be used"
	}
	return ""
}

// unsupportedServerTLS is unsupportedTLS for a listener.
func unsupportedServerTLS(t *model.ServerTLS) string {
	switch {
	case t == nil:
		return ""
	case t.Certificate == nil || t.Certificate.Secret.Provider != model.ProviderMesh:
		return "only the certificate of the mesh can be used"
	case t.Validation != nil && t.Validation.TrustSecret.Provider != model.ProviderMesh:
		return "only the authority of the mesh can be trusted"
	}
	return ""
}

// clientSocket validates the server, and presents the certificate of the mesh if the client has one (gRFC A29).
func clientSocket(t *model.ClientTLS) *corev3.TransportSocket {
	context := &tlsv3.CommonTlsContext{}
	if t.Certificate != nil {
		context.TlsCertificateProviderInstance = provider()
	}
	validation := &tlsv3.CertificateValidationContext{CaCertificateProviderInstance: provider()}
	for _, name := range t.Validation.Names {
		//nolint:staticcheck // gRPC libraries have only this field
		validation.MatchSubjectAltNames = append(validation.MatchSubjectAltNames, &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name},
		})
	}
	context.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: validation}
	return transportSocket(&tlsv3.UpstreamTlsContext{CommonTlsContext: context, Sni: t.ServerName})
}

// serverSocket serves the certificate of the mesh. The names of clients are the matter of filters.
func serverSocket(t *model.ServerTLS) *corev3.TransportSocket {
	context := &tlsv3.CommonTlsContext{TlsCertificateProviderInstance: provider()}
	if t.Validation != nil {
		context.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{
			ValidationContext: &tlsv3.CertificateValidationContext{CaCertificateProviderInstance: provider()},
		}
	}
	return transportSocket(&tlsv3.DownstreamTlsContext{
		CommonTlsContext: context, RequireClientCertificate: wrapperspb.Bool(t.Validation != nil),
	})
}

func provider() *tlsv3.CertificateProviderPluginInstance {
	return &tlsv3.CertificateProviderPluginInstance{InstanceName: certificates}
}

func transportSocket(context proto.Message) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: typedConfig(context)},
	}
}
