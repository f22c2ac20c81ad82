// Package tracing makes OpenTelemetry spans of HTTP requests.
//
// In: the heads of requests, with the trace context of W3C if they have one. Out: the trace context for the endpoint,
// and spans for a collector, by OTLP over HTTP in the background. Spans are dropped if the collector is too slow.
package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Tracer makes spans. A nil tracer makes none.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// delay is how long a span waits for others.
const delay = time.Second

// Open returns the tracer of a configuration.
func Open(c *config.Tracing, log *slog.Logger) *Tracer {
	exporter := otlptrace.NewUnstarted(&collector{url: c.URL(), log: log})
	sampler := sdktrace.ParentBased(sdktrace.TraceIDRatioBased(float64(c.Share()) / 100))
	p := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(delay)), sdktrace.WithSampler(sampler),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", c.ServiceName()))))
	return &Tracer{provider: p, tracer: p.Tracer("anymesh.dev/anymesh/internal/proxy")}
}

// closeTimeout limits the export of the last spans.
const closeTimeout = 2 * time.Second

// Close exports what is left.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the collector logs its errors
}

// Request is what a span tells of a request. It keeps none of the strings, which may be parts of a buffer.
type Request struct {
	Listener, Method, Path, Host, Version, Client string
	GRPC                                          bool
	// Field returns the value of a field of the head by its name in lower case.
	Field func(name string) string
}

// Span is the span of one request. A nil span is that of a request that is not traced.
type Span struct {
	span  trace.Span
	state string
	grpc  bool
}

// Start begins the span of a request, as a part of the trace of the client if it has one.
func (t *Tracer) Start(r *Request) *Span {
	if t == nil {
		return nil
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), carrier{r.Field})
	_, span := t.tracer.Start(ctx, spanName(r), trace.WithSpanKind(trace.SpanKindServer))
	s := &Span{span: span, state: span.SpanContext().TraceState().String(), grpc: r.GRPC}
	if !span.IsRecording() {
		return s
	}
	path, query, _ := strings.Cut(strings.Clone(r.Path), "?")
	span.SetAttributes(
		attribute.String("http.request.method", strings.Clone(r.Method)), attribute.String("url.path", path),
		attribute.String("server.address", strings.Clone(r.Host)), attribute.String("network.protocol.version", r.Version),
		attribute.String("client.address", r.Client), attribute.String("anymesh.listener", r.Listener),
	)
	if query != "" {
		span.SetAttributes(attribute.String("url.query", query))
	}
	if r.GRPC {
		span.SetAttributes(attribute.String("rpc.system", "grpc"))
	}
	return s
}

// spanName returns a name of few values: the method of gRPC, or that of HTTP if it is a known one.
func spanName(r *Request) string {
	if r.GRPC {
		path, _, _ := strings.Cut(strings.Clone(r.Path), "?")
		return strings.TrimPrefix(path, "/")
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodTrace:
		return strings.Clone(r.Method)
	}
	return "HTTP"
}

// Replaces reports whether a field of the request is replaced by those of AppendFields.
func (s *Span) Replaces(name string) bool {
	return s != nil && (strings.EqualFold(name, "traceparent") || strings.EqualFold(name, "tracestate"))
}

// AppendFields appends the trace context as fields of HTTP/1: version 00 of the Trace Context of W3C.
func (s *Span) AppendFields(to []byte) []byte {
	if s == nil {
		return to
	}
	c := s.span.SpanContext()
	to = append(append(to, "traceparent: 00-"...), c.TraceID().String()...)
	to = append(append(append(to, '-'), c.SpanID().String()...), '-')
	to = append(append(to, c.TraceFlags().String()...), "\r\n"...)
	if s.state != "" {
		to = append(append(append(to, "tracestate: "...), s.state...), "\r\n"...)
	}
	return to
}

// TraceID returns the ID of the trace; empty without one.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// GRPC notes the status of a call of gRPC. Statuses that tell of a failure of the server make the span one with an
// error.
func (s *Span) GRPC(status string) {
	if s == nil || !s.grpc {
		return
	}
	n, err := strconv.Atoi(status)
	if err != nil {
		return
	}
	s.span.SetAttributes(attribute.Int("rpc.grpc.status_code", n))
	switch n {
	case 2, 4, 12, 13, 14, 15: // UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS
		s.span.SetStatus(codes.Error, "")
	}
}

// Result is what is known at the end of a request.
type Result struct {
	Status            int // 0 without a response
	Cluster, Endpoint string
	Retries           int
}

// End ends the span.
func (s *Span) End(r Result) {
	if s == nil {
		return
	}
	if s.span.IsRecording() {
		s.span.SetAttributes(attribute.Int("http.response.status_code", r.Status), attribute.String("anymesh.cluster", r.Cluster),
			attribute.String("anymesh.endpoint", r.Endpoint), attribute.Int("http.request.resend_count", r.Retries))
		switch {
		case r.Status == 0:
			s.span.SetStatus(codes.Error, "aborted")
		case r.Status >= 500:
			s.span.SetStatus(codes.Error, "")
		}
	}
	s.span.End()
}

// carrier reads the trace context of a request.
type carrier struct{ field func(string) string }

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(name string) string { return strings.Clone(c.field(name)) }

// Set implements propagation.TextMapCarrier.
func (carrier) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (carrier) Keys() []string { return nil }
