package envoy

import (
	"path/filepath"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Certificates in files are secrets of the secret discovery service, with the names of the files only. The agent puts
// their content into them, again when the files change (package relay). Envoy of a pod of an earlier version has no
// agent between, and reads the files when their directory changes.

// The files that the agent renews: the identity of the pod, and the trust bundle of the mesh.
var identityCertificate = model.Certificate{
	ChainFile: sidecar.CertificatesDir + "/tls.crt", KeyFile: sidecar.CertificatesDir + "/tls.key",
}

const identityTrust = sidecar.CertificatesDir + "/ca.crt"

// secretTimeout is how long a listener or cluster waits for a secret from the socket of the node. Then it serves the
// rest: connections that need the secret fail until it arrives.
const secretTimeout = 5 * time.Second

func certificateFiles(name string, c model.Certificate) *tlsv3.Secret {
	return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: file(c.ChainFile), PrivateKey: file(c.KeyFile), WatchedDirectory: directory(c.ChainFile),
	}}}
}

func trustFiles(name, trust string) *tlsv3.Secret {
	return &tlsv3.Secret{
		Name: name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			TrustedCa: file(trust), WatchedDirectory: directory(trust),
		}},
	}
}

// secretConfig is a secret of the control plane. A listener or cluster waits for it without a limit, and the one before
// serves: the files may be mounted later.
func secretConfig(name string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: adsConfigSource()}
}

// socketSecret is a secret of the server on the socket of the node.
func socketSecret(name string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: &corev3.ConfigSource{
		ResourceApiVersion:  corev3.ApiVersion_V3,
		InitialFetchTimeout: durationpb.New(secretTimeout),
		ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
			ApiType:             corev3.ApiConfigSource_GRPC, // SPIRE serves no deltas
			TransportApiVersion: corev3.ApiVersion_V3,
			GrpcServices:        []*corev3.GrpcService{grpcService(sdsCluster)},
		}},
	}}
}

// grpcService is a gRPC server to which Envoy reconnects with backoff.
func grpcService(cluster string) *corev3.GrpcService {
	return &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
		EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
			ClusterName: cluster,
			RetryPolicy: &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
				BaseInterval: durationpb.New(retryBaseInterval),
				MaxInterval:  durationpb.New(retryMaxInterval),
			}},
		},
	}}
}

func file(name string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: name}}
}

// directory is what Envoy watches: the files of a mounted Secret change when a link in it is replaced.
func directory(file string) *corev3.WatchedDirectory {
	return &corev3.WatchedDirectory{Path: filepath.Dir(file)}
}
