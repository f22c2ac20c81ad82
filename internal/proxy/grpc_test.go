package proxy_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Calls of gRPC pass: one answer, a stream of answers, errors with their text, and trailers. A cluster without a server
// is unavailable, a method without a route is not implemented.
func TestGRPC(t *testing.T) {
	trailers := func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-trailer", "t", "x-bin", "\x00\xff"))
		return h(ctx, r)
	}
	s := grpc.NewServer(grpc.UnaryInterceptor(trailers))
	serving := health.NewServer()
	grpc_health_v1.RegisterHealthServer(s, serving)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(s.Stop)
	at := start(t, fmt.Sprintf(`
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules:
  - match: {op: test, path: /HTTP/headers/x-to, value: nobody}
    action: {route: {destination: {spec: {protocol: HTTP, port: $DEAD, http2: true}, endpoints: [{spec: {address: 127.0.0.1}}]}}}
  - match: {op: starts, path: /HTTP/url/path, value: /grpc.health.v1.Health/}
    action: {route: {destination: {spec: {protocol: HTTP, port: %s, http2: true}, endpoints: [{spec: {address: 127.0.0.1}}]}}}
`, portOf(l.Addr())), "IN", "DEAD")
	c, err := grpc.NewClient(at["IN"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := grpc_health_v1.NewHealthClient(c)
	for range 20 {
		var trailer metadata.MD
		answer, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Trailer(&trailer))
		if err != nil || answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Fatalf("got %v, error %v", answer, err)
		}
		if fmt.Sprint(trailer.Get("x-trailer"), trailer.Get("x-bin")) != "[t] [\x00\xff]" {
			t.Errorf("got trailers %v", trailer)
		}
	}
	if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "x"}); status.Code(err) != codes.NotFound {
		t.Errorf("unknown service: got %v", err)
	}
	watch, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: "y"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN, grpc_health_v1.HealthCheckResponse_SERVING,
		grpc_health_v1.HealthCheckResponse_NOT_SERVING,
	} {
		if got, err := watch.Recv(); err != nil || got.Status != want {
			t.Fatalf("got %v, error %v, want %v", got, err, want)
		}
		if want == grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
			serving.SetServingStatus("y", grpc_health_v1.HealthCheckResponse_SERVING)
		} else {
			serving.SetServingStatus("y", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		}
	}
	if _, err := client.Check(metadata.AppendToOutgoingContext(ctx, "x-to", "nobody"), &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("without a server: got %v", err)
	}
	if err := c.Invoke(ctx, "/other/Method", &grpc_health_v1.HealthCheckRequest{}, &grpc_health_v1.HealthCheckResponse{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("without a route: got %v", err)
	}
	short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	blocked, err := client.Watch(short, &grpc_health_v1.HealthCheckRequest{})
	for err == nil {
		_, err = blocked.Recv()
	}
	if code := status.Code(err); code != codes.DeadlineExceeded && code != codes.Canceled { // of the client, or the server
		t.Errorf("a call with a deadline: got %v", err)
	}
	cancel()
	s.GracefulStop() // it waits for all calls: the server learns that the client has given up
}
