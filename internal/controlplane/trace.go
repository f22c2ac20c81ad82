package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"anymesh.dev/anymesh/internal/engine"
)

// newTracer returns a tracer that exports spans to the collector in the OTEL_EXPORTER_OTLP_* environment variables, or
// a no-op tracer if they are not set. If the collector is unreachable, spans are dropped and an error is logged.
func newTracer(ctx context.Context, replica string, log *slog.Logger) (*sdktrace.TracerProvider, error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are lost", "error", err) }))
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("exporter of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithFromEnv(), resource.WithAttributes(
		attribute.String("service.name", "anymesh"), attribute.String("service.instance.id", replica)))
	if err != nil {
		return nil, fmt.Errorf("exporter of traces: %w", err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about)), nil
}

// traceChanges creates a span for each change, from its first event to its publication to the xDS server, with a child
// span for each stage.
func traceChanges(tracer trace.Tracer) engine.Sink {
	return func(c engine.Change) {
		start := c.Since
		if start.IsZero() {
			start = c.Started
		}
		ctx, whole := tracer.Start(context.Background(), "change", trace.WithTimestamp(start))
		if !whole.IsRecording() {
			return
		}
		whole.SetAttributes(attribute.Int("events", c.Events), attribute.Int("views", len(c.Views)),
			attribute.Int("outboundViews", len(c.OutboundViews)), attribute.Int("destinations", len(c.Destinations)),
			attribute.Int("pods", len(c.Pods)), attribute.Int("findingsChanged", len(c.FindingsChanged)))
		end := time.Now()
		for _, stage := range []struct {
			name     string
			from, to time.Time
		}{{"wait", start, c.Started}, {"sync", c.Started, c.Synced}, {"deliver", c.Synced, end}} {
			_, span := tracer.Start(ctx, stage.name, trace.WithTimestamp(stage.from))
			span.End(trace.WithTimestamp(stage.to))
		}
		whole.End(trace.WithTimestamp(end))
	}
}

// flushTraces exports the remaining spans, with a timeout of one second.
func (cp *controlPlane) flushTraces(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := cp.traces.Shutdown(ctx); err != nil {
		cp.Log.Warn("the last traces are lost", "error", err)
	}
}
