package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"k8s.io/client-go/kubernetes/fake"

	"anymesh.dev/anymesh/internal/delivery/socket"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/identity"
)

// clientCertificate issues a client certificate that expires after ttl.
func clientCertificate(t *testing.T, ca *identity.CA, ttl time.Duration) (*tls.Certificate, error) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, err
	}
	issued, err := ca.Sign(identity.EncodeRequest(der),
		identity.Claims{Namespace: "a", ServiceAccount: "default", Pod: "front-1", PodUID: "uid-1"}, ttl)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	out, err := tls.X509KeyPair(issued.CertificatePEM,
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	return &out, err
}

// When its certificate expires, a sidecar loses its connection, because the identity of a connection does not change.
// It can connect again with a new certificate.
func TestConnectionEndsWhenCertificateExpires(t *testing.T) {
	ca := newCA(t)
	serving, err := identity.NewServingCertificate(ca, []string{"anymesh.test"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var once sync.Once
	seen, second := map[string]bool{}, make(chan struct{})
	server := xds.NewServer(func(_ context.Context, p xds.Peer, _ *corev3.Node) (xds.Grant, error) {
		mu.Lock()
		defer mu.Unlock()
		if seen[p.Chain[0].SerialNumber.String()] = true; len(seen) == 2 {
			once.Do(func() { close(second) })
		}
		return xds.Grant{Key: "k", Identity: "uid-1"}, nil
	}, xds.Options{TLS: serving.MutualTLSConfig(), Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(ctx, identity.CloseOnCertificateExpiry(socket.Listener(l))) })
	defer running.Wait()
	defer cancel()

	// Only the first certificate expires during the test.
	var issued int
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: ca.Bundle().Pool(), ServerName: "anymesh.test", MinVersion: tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			issued++
			if issued == 1 {
				return clientCertificate(t, ca, 2*time.Second)
			}
			return clientCertificate(t, ca, time.Hour)
		},
	})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	open := func() deltaClient {
		stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).
			DeltaAggregatedResources(ctx, grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "x"}, TypeUrl: "type.googleapis.com/envoy.config.listener.v3.Listener"}); err != nil &&
			!errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return stream
	}
	if _, err := open().Recv(); err == nil {
		t.Fatal("the stream is open after the expiry of the certificate")
	}
	timeout := time.After(2 * time.Minute)
	for {
		ended, stream := make(chan struct{}), open()
		go func() { _, _ = stream.Recv(); close(ended) }()
		select {
		case <-second:
			return
		case <-ended: // the old connection has closed
		case <-timeout:
			t.Fatal("no stream with the second certificate")
		}
	}
}

type deltaClient = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient

func TestDebugIdentityHasNoPrivateKey(t *testing.T) {
	client := fake.NewClientset()
	caStore, err := identity.OpenCAStore(t.Context(), client, identity.CAStoreOptions{
		Namespace: "anymesh-system", TrustDomain: "cluster.local", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	cp := &controlPlane{caStore: caStore}
	w := httptest.NewRecorder()
	cp.dumpIdentity().ServeHTTP(w, nil)
	text := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(text, `"phase": "Steady"`) ||
		!strings.Contains(text, `"role": "signing"`) {
		t.Errorf("got status %d: %s", w.Code, text)
	}
	key, err := caStore.Current().KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(key)) {
		if strings.Contains(text, strings.TrimSpace(line)) {
			t.Error("the response contains the private key")
		}
	}
}
