package grpcserver

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Methods of the gRPC health service.
const (
	healthCheck = "/grpc.health.v1.Health/Check"
	healthWatch = "/grpc.health.v1.Health/Watch"
)

// MaxHealthRequest limits a request of the health service, in bytes.
const MaxHealthRequest = 1 << 10

// health is the gRPC health service (grpc.health.v1.Health). All services have the same status: SERVING until the
// server is shut down.
type health struct {
	services map[string]bool

	mu       sync.Mutex
	stopped  bool
	watchers map[*healthStream]struct{}
}

func newHealth(services []string) *health {
	h := &health{services: map[string]bool{"": true}, watchers: map[*healthStream]struct{}{}}
	for _, s := range services {
		h.services[s] = true
	}
	return h
}

func (h *health) open(watch bool) func(*Stream) StreamHandler {
	return func(s *Stream) StreamHandler { return &healthStream{health: h, stream: s, watches: watch} }
}

// stop reports NOT_SERVING from now on.
func (h *health) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for w := range h.watchers {
		go w.send() // the client may not read
	}
}

// statusOf requires the lock.
func (h *health) statusOf(service string) healthv1.HealthCheckResponse_ServingStatus {
	switch {
	case !h.services[service]:
		return healthv1.HealthCheckResponse_SERVICE_UNKNOWN
	case h.stopped:
		return healthv1.HealthCheckResponse_NOT_SERVING
	}
	return healthv1.HealthCheckResponse_SERVING
}

// healthStream is a call of Check or Watch.
type healthStream struct {
	health  *health
	stream  *Stream
	watches bool
	asked   bool
	service string

	sending sync.Mutex
	sent    healthv1.HealthCheckResponse_ServingStatus // the last one, UNKNOWN if none
}

// OnMessage implements StreamHandler.
func (w *healthStream) OnMessage(message []byte) {
	var request healthv1.HealthCheckRequest
	if len(message) > MaxHealthRequest {
		w.stream.conn.server.OnRefused(RefusedHealthRequest)
	}
	if w.asked || len(message) > MaxHealthRequest || proto.Unmarshal(message, &request) != nil {
		w.finish(status.Errorf(codes.InvalidArgument, "send one HealthCheckRequest of at most %d bytes",
			MaxHealthRequest))
		return
	}
	w.asked, w.service = true, request.GetService()
	h := w.health
	h.mu.Lock()
	known := h.services[w.service]
	if w.watches {
		h.watchers[w] = struct{}{}
	}
	h.mu.Unlock()
	if w.watches { // a second OnEnd does not follow that of the client's END_STREAM
		context.AfterFunc(w.stream.Context(), func() {
			w.finish(status.Error(codes.Unavailable, "the connection ends; reconnect"))
		})
	}
	if !w.watches && !known {
		w.finish(status.Errorf(codes.NotFound, "unknown service %q", w.service))
		return
	}
	w.send()
	if !w.watches {
		w.finish(nil)
	}
}

// OnEnd implements StreamHandler. A client of Watch ends its side at once.
func (w *healthStream) OnEnd(err error) {
	switch {
	case err == nil && !w.asked:
		err = status.Error(codes.InvalidArgument, "send one HealthCheckRequest")
	case err == nil:
		return
	}
	w.finish(err)
}

func (w *healthStream) finish(err error) {
	w.health.mu.Lock()
	delete(w.health.watchers, w)
	w.health.mu.Unlock()
	w.stream.Finish(err)
}

// send sends the status unless it was the last one sent.
func (w *healthStream) send() {
	w.sending.Lock()
	defer w.sending.Unlock()
	w.health.mu.Lock()
	now := w.health.statusOf(w.service)
	w.health.mu.Unlock()
	if now == w.sent {
		return
	}
	w.sent = now
	b, err := proto.Marshal(&healthv1.HealthCheckResponse{Status: now})
	if err == nil {
		_ = w.stream.Send(b) // OnEnd follows an error
	}
}
