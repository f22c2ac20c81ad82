// Package sds is a server of Envoy's secret discovery service on a Unix domain socket, for tests. It behaves like the
// SPIRE agent: it serves streams of whole states, refuses streams for secrets that it does not have, and sends changes
// at once.
//
// In: secrets, which tests set and replace. Out: the secrets that sidecars request, and what they reject.
package sds

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	secretv3 "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

const typeURL = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

// Server serves secrets. Its methods are safe for concurrent use.
type Server struct {
	secretv3.UnimplementedSecretDiscoveryServiceServer
	server *grpc.Server

	mu       sync.Mutex
	secrets  map[string]*tlsv3.Secret
	changed  chan struct{} // closed at the next change
	version  int           // the number of changes
	streams  map[int]int   // the version that the client of each stream has acknowledged
	last     int           // stream
	rejected []string
}

// Listen serves on a socket, which each user may open, until Stop.
func Listen(path string) (*Server, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o777); err != nil {
		l.Close()
		return nil, err
	}
	s := &Server{
		server: grpc.NewServer(), secrets: map[string]*tlsv3.Secret{}, changed: make(chan struct{}), streams: map[int]int{},
	}
	secretv3.RegisterSecretDiscoveryServiceServer(s.server, s)
	go func() { _ = s.server.Serve(l) }() // until Stop
	return s, nil
}

// Stop ends all streams and removes the socket.
func (s *Server) Stop() { s.server.Stop() }

// Set adds or replaces secrets.
func (s *Server) Set(secrets ...*tlsv3.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		s.secrets[secret.Name] = secret
	}
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// Rejected returns what sidecars rejected.
func (s *Server) Rejected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rejected)
}

// Settled reports whether there are streams, and the clients of all have acknowledged the current secrets.
func (s *Server) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, version := range s.streams {
		if version != s.version {
			return false
		}
	}
	return len(s.streams) > 0
}

// StreamSecrets implements the secret discovery service.
func (s *Server) StreamSecrets(stream secretv3.SecretDiscoveryService_StreamSecretsServer) error {
	id := s.open()
	defer s.close(id)
	requests, ended := make(chan *discoveryv3.DiscoveryRequest), make(chan error, 1)
	go func() {
		for {
			request, err := stream.Recv()
			if err != nil {
				ended <- err
				return
			}
			select {
			case requests <- request:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	var names []string
	var changed chan struct{}
	nonce, version := 0, 0
	for {
		select {
		case err := <-ended:
			return err
		case request := <-requests:
			if request.ErrorDetail != nil {
				s.reject(request)
				continue
			}
			if nonce > 0 && slices.Equal(names, request.ResourceNames) {
				if request.ResponseNonce == strconv.Itoa(nonce) {
					s.acknowledge(id, version)
				}
				continue
			}
			names = request.ResourceNames
		case <-changed:
		}
		nonce++
		response, err := s.response(names, nonce, &version, &changed)
		if err != nil {
			return err
		}
		if stream.Send(response) != nil {
			return <-ended
		}
	}
}

// response returns the current secrets with the names. It sets their version, and the channel that is closed at the
// next change.
func (s *Server) response(names []string, nonce int, version *int,
	changed *chan struct{}) (*discoveryv3.DiscoveryResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*version, *changed = s.version, s.changed
	out := &discoveryv3.DiscoveryResponse{
		TypeUrl: typeURL, VersionInfo: strconv.Itoa(s.version), Nonce: strconv.Itoa(nonce),
	}
	for _, name := range names {
		secret, ok := s.secrets[name]
		if !ok {
			return nil, status.Errorf(codes.InvalidArgument,
				"workload is not authorized for the requested identities [%q]", name)
		}
		body, err := anypb.New(secret)
		if err != nil {
			return nil, err
		}
		out.Resources = append(out.Resources, body)
	}
	return out, nil
}

func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.streams[s.last] = -1
	return s.last
}

func (s *Server) close(stream int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, stream)
}

func (s *Server) acknowledge(stream, version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[stream] = version
}

func (s *Server) reject(r *discoveryv3.DiscoveryRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected = append(s.rejected, fmt.Sprintf("%v: %s", r.ResourceNames, r.ErrorDetail.Message))
}

// Certificate returns the secret of a certificate chain and its key, in PEM.
func Certificate(name string, chain, key []byte) *tlsv3.Secret {
	return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: inline(chain), PrivateKey: inline(key),
	}}}
}

// Trust returns the secret of a trust bundle, in PEM.
func Trust(name string, roots []byte) *tlsv3.Secret {
	return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_ValidationContext{
		ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: inline(roots)},
	}}
}

func inline(text []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: text}}
}
