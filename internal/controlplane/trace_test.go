package controlplane

import (
	"log/slog"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/flow"
)

// A change is one span, and its stages follow each other within.
func TestChangesAreTraced(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	f := flow.New(slog.New(slog.DiscardHandler), []dialect.Dialect{appmesh.Dialect{}}, traceChanges(provider.Tracer("test")))
	f.Settle()
	f.Set(&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}})
	f.Settle()
	ended := spans.Ended()
	if len(ended) != 8 {
		t.Fatalf("%d spans for two changes", len(ended))
	}
	stages, whole := ended[4:7], ended[7]
	if whole.Name() != "change" {
		t.Errorf("the last span is %s", whole.Name())
	}
	at := whole.StartTime()
	for i, name := range []string{"wait", "settle", "deliver"} {
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
func TestNoCollectorNoTraces(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	provider, err := newTracer(t.Context(), "replica")
	if err != nil {
		t.Fatal(err)
	}
	if _, span := provider.Tracer("test").Start(t.Context(), "change"); span.IsRecording() {
		t.Error("a span is recorded")
	}
}
