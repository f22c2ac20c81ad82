// Package secrets serves certificates of Kubernetes Secrets to a gateway's Envoy in the same pod.
//
// In: names of secrets that Envoy asks for by its secret discovery service on a Unix domain socket, and the Secrets of
// these names, which are watched while Envoy uses them. Out: certificates with their private keys. They go from the API
// server to the pod that serves them, and nowhere else.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	secretv3 "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"anymesh.dev/anymesh/sidecar"
)

const typeURL = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

// Server serves secrets on a Unix domain socket.
type Server struct {
	secretv3.UnimplementedSecretDiscoveryServiceServer
	secrets *watches
	log     *slog.Logger
}

// New creates a server. The client needs the verbs list and watch for the Secrets that are asked for, and create and
// patch for events in their namespaces.
func New(client kubernetes.Interface, log *slog.Logger) *Server {
	report := events{client: client, log: log}.record
	return &Server{secrets: &watches{client: client, log: log, report: report, open: map[name]*watch{}}, log: log}
}

// Problems returns the certificates that Envoy asks for, by name, with why their Secrets have none: an empty text if
// they have one. A Secret that is not read yet is not among them.
func (s *Server) Problems() map[string]string { return s.secrets.problems() }

// Serve serves on the socket until the context ends. Only the user of the process may connect.
func (s *Server) Serve(ctx context.Context, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("socket of the secrets: %w", err)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("socket of the secrets: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("socket of the secrets: %w", err), l.Close())
	}
	server := grpc.NewServer()
	secretv3.RegisterSecretDiscoveryServiceServer(server, s)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("server of the secrets: %w", err)
	}
	return nil
}

// StreamSecrets sends the certificate of the Secret that the stream names, and each later version. Envoy opens a stream
// for each secret. A Secret that does not exist, or without a certificate, is sent when it has one; until then Envoy
// keeps the last one.
func (s *Server) StreamSecrets(stream secretv3.SecretDiscoveryService_StreamSecretsServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	id, err := parseName(first.ResourceNames)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	go s.logRejections(stream, id)
	changes, stop := s.secrets.follow(id)
	defer stop()
	for version := 1; ; version++ {
		select {
		case <-stream.Context().Done():
			return nil
		case secret := <-changes:
			if err := send(stream, id, secret, version); err != nil {
				return err
			}
		}
	}
}

// logRejections logs what Envoy rejects, until the stream ends.
func (s *Server) logRejections(stream secretv3.SecretDiscoveryService_StreamSecretsServer, id name) {
	for {
		request, err := stream.Recv()
		if err != nil {
			return
		}
		if request.ErrorDetail == nil {
			continue
		}
		text := "certificate is rejected; the last one stays in use"
		if request.VersionInfo == "" { // a rejection has the version that Envoy accepted last
			text = "certificate is rejected; connections to its hosts fail until one is accepted"
		}
		s.log.Warn(text, "secret", id.namespace+"/"+id.name, "error", request.ErrorDetail.Message)
	}
}

func send(stream secretv3.SecretDiscoveryService_StreamSecretsServer, id name, secret *corev1.Secret,
	version int) error {
	inline := func(b []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
	}
	body, err := anypb.New(&tlsv3.Secret{Name: id.String(), Type: &tlsv3.Secret_TlsCertificate{
		TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inline(secret.Data[corev1.TLSCertKey]), PrivateKey: inline(secret.Data[corev1.TLSPrivateKeyKey]),
		},
	}})
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	text := strconv.Itoa(version)
	return stream.Send(&discoveryv3.DiscoveryResponse{
		VersionInfo: text, Nonce: text, TypeUrl: typeURL, Resources: []*anypb.Any{body},
	})
}

// name is the name of a Secret.
type name struct{ namespace, name string }

// String returns the name that Envoy asks for.
func (n name) String() string { return sidecar.KubernetesSecretPrefix + n.namespace + "/" + n.name }

// parseName parses the resource names of a stream, of which there must be one.
func parseName(names []string) (name, error) {
	if len(names) != 1 {
		return name{}, fmt.Errorf("%d secrets are named, want one", len(names))
	}
	rest, ok := strings.CutPrefix(names[0], sidecar.KubernetesSecretPrefix)
	namespace, secret, both := strings.Cut(rest, "/")
	if !ok || !both || namespace == "" || secret == "" || strings.Contains(secret, "/") {
		return name{}, fmt.Errorf("secret %q is not %sNAMESPACE/NAME", names[0], sidecar.KubernetesSecretPrefix)
	}
	return name{namespace, secret}, nil
}
