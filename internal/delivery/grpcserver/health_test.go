package grpcserver

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func TestHealth(t *testing.T) {
	r := startServer(t, listenLoopback(t), Options{HealthServices: []string{"test.Test"}, DrainTime: time.Second})
	conn, err := grpc.NewClient("passthrough:///"+r.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := healthv1.NewHealthClient(conn)
	for service, want := range map[string]codes.Code{"": codes.OK, "test.Test": codes.OK, "test.Other": codes.NotFound,
		strings.Repeat("x", 2000): codes.InvalidArgument} {
		got, err := client.Check(ctx, &healthv1.HealthCheckRequest{Service: service})
		if status.Code(err) != want || err == nil && got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("Check of %.20q: got %v, error %v", service, got, err)
		}
	}
	if got := r.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedHealthRequest}) {
		t.Errorf("refused: %q", got)
	}
	if err := conn.Invoke(ctx, healthCheck, &healthv1.HealthCheckResponse{Status: 99}, &healthv1.HealthCheckResponse{}); err != nil {
		t.Errorf("an unknown field: %v", err)
	}
	watch := func(service string) grpc.ServerStreamingClient[healthv1.HealthCheckResponse] {
		t.Helper()
		s, err := client.Watch(ctx, &healthv1.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	next := func(s grpc.ServerStreamingClient[healthv1.HealthCheckResponse],
		want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := s.Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("Watch: got %v, error %v, want %v", got, err, want)
		}
	}
	known, unknown := watch("test.Test"), watch("test.Other")
	next(known, healthv1.HealthCheckResponse_SERVING)
	next(unknown, healthv1.HealthCheckResponse_SERVICE_UNKNOWN)
	go r.stop()
	next(known, healthv1.HealthCheckResponse_NOT_SERVING)
	if got, err := unknown.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("Watch of an unknown service: got %v, error %v at shutdown", got, err)
	}
}

// Watchers that have left are forgotten.
func TestHealthWatchersAreRemoved(t *testing.T) {
	h := newHealth(nil)
	r := startServer(t, listenLoopback(t), Options{Methods: map[string]func(*Stream) StreamHandler{
		"/watch": h.open(true),
	}})
	conn := dial(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	for range 3 {
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/watch")
		if err != nil {
			t.Fatal(err)
		}
		s.SendMsg([]byte{})
		s.CloseSend()
		if _, err := receive(s); err != nil {
			t.Error(err)
		}
	}
	count := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.watchers)
	}
	if n := count(); n != 3 {
		t.Errorf("%d watchers", n)
	}
	cancel()
	eventually(t, "they are forgotten", func() bool { return count() == 0 })
}
