package xds

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	grpcxds "google.golang.org/grpc/xds"
)

// backend serves health checks with a fixed state, which identifies the backend.
type backend struct {
	healthpb.UnimplementedHealthServer
	state healthpb.HealthCheckResponse_ServingStatus
}

func (b backend) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: b.state}, nil
}

func startBackend(t *testing.T, state healthpb.HealthCheckResponse_ServingStatus) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, backend{state: state})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return l.Addr().String()
}

// files writes a certificate, its key and the root certificate to files.
func (r *testServer) files(t *testing.T, leaf tls.Certificate) (certificate, key, root string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, block *pem.Block) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("tls.crt", &pem.Block{Type: "CERTIFICATE", Bytes: leaf.Certificate[0]}),
		write("tls.key", &pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		write("ca.crt", &pem.Block{Type: "CERTIFICATE", Bytes: r.ca.cert.Raw})
}

// TestProxylessGRPC runs gRPC's own xDS client, which uses the state-of-the-world variant and subscribes by name,
// over mutual TLS. It reaches a backend, follows changes, and fails calls when its listener is removed.
func TestProxylessGRPC(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	one, two := startBackend(t, healthpb.HealthCheckResponse_SERVING),
		startBackend(t, healthpb.HealthCheckResponse_NOT_SERVING)
	all := shared(t, greeterListener(t, ""), greeterRoute(t, "one"), greeterCluster(t, "one", time.Second),
		greeterEndpoints(t, "one", one))
	r.Publish("client", sharing(t, all), time.Time{})

	certificate, key, root := r.files(t, r.ca.leaf(t, "client", time.Hour))
	bootstrap, err := json.Marshal(map[string]any{
		"node": map[string]any{"id": "client"},
		"xds_servers": []any{map[string]any{
			"server_uri": r.addr, "server_features": []string{"xds_v3"},
			"channel_creds": []any{map[string]any{"type": "tls", "config": map[string]any{
				"certificate_file": certificate, "private_key_file": key, "ca_certificate_file": root,
			}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := grpcxds.NewXDSResolverWithConfigForTesting(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("xds:///greeter", grpc.WithResolvers(resolver),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	call := func() (healthpb.HealthCheckResponse_ServingStatus, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{},
			grpc.WaitForReady(true))
		return answer.GetStatus(), err
	}
	if got, err := call(); err != nil || got != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("the first call: %s, %v", got, err)
	}
	reaches := func(what string, want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		eventually(t, what, func() bool {
			got, err := call()
			// gRPC may briefly use a new route with the picker of the old one, independent of the server.
			if err != nil && !strings.Contains(err.Error(), "unknown cluster selected for RPC") {
				t.Fatalf("%s: a call failed: %v", what, err)
			}
			return err == nil && got == want
		})
	}
	r.Update(all, &Update{Changed: []*Resource{greeterEndpoints(t, "one", two)}}, time.Time{})
	reaches("endpoints moved to the second backend", healthpb.HealthCheckResponse_NOT_SERVING)
	r.Publish("client", snapshot(t, greeterListener(t, ""), greeterRoute(t, "two"),
		greeterCluster(t, "two", time.Second), greeterEndpoints(t, "two", one)), time.Time{})
	reaches("the route moved to another cluster on the first", healthpb.HealthCheckResponse_SERVING)

	eventually(t, "all is acknowledged", func() bool {
		all := r.Clients()
		if len(all) != 1 || len(all[0].Types) != 4 {
			return false
		}
		for _, ty := range all[0].Types {
			if ty.PendingAcks > 0 || ty.PendingResources > 0 || ty.LastNack != nil || ty.Wildcard {
				return false
			}
		}
		return true
	})
	r.Publish("client", snapshot(t), time.Time{})
	eventually(t, "without a listener calls fail", func() bool {
		_, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
		return status.Code(err) == codes.Unavailable
	})
}
