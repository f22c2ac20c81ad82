package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector sends spans by OTLP over HTTP. The client of the library would add all of gRPC to the program.
type collector struct {
	url string
	log *slog.Logger
}

// exportTimeout limits a request to the collector.
const exportTimeout = 10 * time.Second

// Start implements otlptrace.Client.
func (*collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (*collector) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client. What the collector does not take is lost.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	if err := c.upload(ctx, spans); err != nil {
		c.log.Warn("traces are lost", "error", err)
	}
	return nil
}

func (c *collector) upload(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// This message has the same encoding as ExportTraceServiceRequest, whose package has the service of gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if _, err := io.CopyN(io.Discard, response.Body, 1<<20); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers with the status %s", response.Status)
	}
	return nil
}
