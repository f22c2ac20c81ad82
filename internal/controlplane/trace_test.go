package controlplane

import (
	"context"
	"log/slog"
	"net"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
)

var quietLog = slog.New(slog.DiscardHandler)

// A change is one span, and its stages follow each other within.
func TestChangesAreTraced(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	f := engine.New(quietLog, []dialect.Dialect{appmesh.Dialect{}}, traceChanges(provider.Tracer("test")))
	f.Sync()
	f.Set(&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}})
	f.Sync()
	ended := spans.Ended()
	if len(ended) != 8 {
		t.Fatalf("%d spans for two changes", len(ended))
	}
	stages, whole := ended[4:7], ended[7]
	if whole.Name() != "change" {
		t.Errorf("the last span is %s", whole.Name())
	}
	at := whole.StartTime()
	for i, name := range []string{"wait", "sync", "deliver"} {
		s := stages[i]
		if s.Name() != name || s.Parent().SpanID() != whole.SpanContext().SpanID() || !s.StartTime().Equal(at) {
			t.Errorf("stage %d is %s from %s, want %s from %s within the change", i, s.Name(), s.StartTime(), name, at)
		}
		at = s.EndTime()
	}
	if !at.Equal(whole.EndTime()) {
		t.Errorf("the stages end at %s, the change at %s", at, whole.EndTime())
	}
}

// Without a collector nothing is recorded, and so nothing kept.
func TestNoTracesWithoutCollector(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	provider, err := newTracer(t.Context(), "replica", quietLog)
	if err != nil {
		t.Fatal(err)
	}
	if _, span := provider.Tracer("test").Start(t.Context(), "change"); span.IsRecording() {
		t.Error("a span is recorded")
	}
}

// collector takes traces as OpenTelemetry's own does.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	exported chan *collectorv1.ExportTraceServiceRequest
}

func (c collector) Export(_ context.Context,
	r *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.exported <- r
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// What is left at the end is sent, too, and says of which replica it is.
func TestTracesAreExported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, server := collector{exported: make(chan *collectorv1.ExportTraceServiceRequest, 1)}, grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }() // ends by Stop
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	cp := &controlPlane{Config: Config{Log: quietLog}}
	if cp.traces, err = newTracer(t.Context(), "replica-1", quietLog); err != nil {
		t.Fatal(err)
	}
	engine.New(quietLog, nil, traceChanges(cp.traces.Tracer("test"))).Sync()
	cp.flushTraces(t.Context())
	select {
	case r := <-c.exported:
		about := map[string]string{}
		for _, a := range r.ResourceSpans[0].Resource.Attributes {
			about[a.Key] = a.Value.GetStringValue()
		}
		if about["service.name"] != "anymesh" || about["service.instance.id"] != "replica-1" {
			t.Errorf("traces of %v", about)
		}
		if n := len(r.ResourceSpans[0].ScopeSpans[0].Spans); n != 4 {
			t.Errorf("%d spans of a change", n)
		}
	default:
		t.Error("the collector got nothing")
	}
}
