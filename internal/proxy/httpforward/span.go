package httpforward

import (
	"bytes"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/tracing"
)

// startSpan begins the span of the request, if requests are traced. Copies of requests are a part of the span of the
// request.
func (c *conn) startSpan() {
	tracer := c.s.Tracer()
	if tracer == nil || c.mirror != nil {
		c.span = nil
		return
	}
	c.span = tracer.Start(&tracing.Request{
		Listener: c.s.Name, Method: text(c.request.Method), Path: text(c.request.Target), Host: text(c.request.Host),
		Version: c.version(), Client: metadata.At(c.base, metadata.Path{"IP", "src_addr"}).Text, GRPC: isGRPC(&c.request),
		Field: func(name string) string {
			value, _ := c.header(name)
			return value
		},
	})
}

// endSpan ends the span of the request.
func (c *conn) endSpan() {
	if c.span == nil {
		return
	}
	c.info.mu.Lock()
	r := tracing.Result{Status: c.status, Cluster: c.info.cluster, Endpoint: c.info.endpoint, Retries: int(c.info.retries.Load())}
	c.info.mu.Unlock()
	c.span.End(r)
}

// noteTrailer tells the span the status of gRPC in the lines of a trailer.
func (c *conn) noteTrailer(lines []byte) {
	if c.span == nil {
		return
	}
	for line := range bytes.Lines(lines) {
		if name, value, _ := strings.Cut(text(line), ":"); strings.EqualFold(name, "grpc-status") {
			c.span.GRPC(strings.TrimSpace(value))
		}
	}
}
