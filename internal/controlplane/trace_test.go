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

var discardLog = slog.New(slog.DiscardHandler)

// The span of a change has a child span for each stage.
func TestChangesAreTraced(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	f := engine.New(discardLog, []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{},
		traceChanges(provider.Tracer("test")))
	f.Sync()
	f.Set(&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}})
	f.Sync()
	ended := spans.Ended()
	if len(ended) != 8 {
		t.Fatalf("got %d spans for two changes, want 8", len(ended))
	}
	stages, root := ended[4:7], ended[7]
	if root.Name() != "change" {
		t.Errorf("got last span %s, want change", root.Name())
	}
	at := root.StartTime()
	for i, name := range []string{"wait", "sync", "deliver"} {
		s := stages[i]
		if s.Name() != name || s.Parent().SpanID() != root.SpanContext().SpanID() || !s.StartTime().Equal(at) {
			t.Errorf("stage %d: got %s from %s, want %s from %s as child of the change", i, s.Name(), s.StartTime(),
				name, at)
		}
		at = s.EndTime()
	}
	if !at.Equal(root.EndTime()) {
		t.Errorf("the last stage ends at %s, the change at %s", at, root.EndTime())
	}
}

func TestNoTracesWithoutCollector(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	provider, err := newTracer(t.Context(), "replica", discardLog)
	if err != nil {
		t.Fatal(err)
	}
	if _, span := provider.Tracer("test").Start(t.Context(), "change"); span.IsRecording() {
		t.Error("got a recording span")
	}
}

// collector is an OTLP collector.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	exported chan *collectorv1.ExportTraceServiceRequest
}

func (c collector) Export(_ context.Context,
	r *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.exported <- r
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// flushTraces exports the remaining spans with the name of the replica.
func TestTracesAreExported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, server := collector{exported: make(chan *collectorv1.ExportTraceServiceRequest, 1)}, grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }() // until Stop
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	cp := &controlPlane{Config: Config{Log: discardLog}}
	if cp.traces, err = newTracer(t.Context(), "replica-1", discardLog); err != nil {
		t.Fatal(err)
	}
	engine.New(discardLog, nil, engine.Settings{}, traceChanges(cp.traces.Tracer("test"))).Sync()
	cp.flushTraces(t.Context())
	select {
	case r := <-c.exported:
		attributes := map[string]string{}
		for _, a := range r.ResourceSpans[0].Resource.Attributes {
			attributes[a.Key] = a.Value.GetStringValue()
		}
		if attributes["service.name"] != "anymesh" || attributes["service.instance.id"] != "replica-1" {
			t.Errorf("got attributes %v", attributes)
		}
		if n := len(r.ResourceSpans[0].ScopeSpans[0].Spans); n != 4 {
			t.Errorf("got %d spans for a change, want 4", n)
		}
	default:
		t.Error("the collector got no spans")
	}
}
