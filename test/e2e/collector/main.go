// Command collector receives spans and metrics, for tests: OTLP/gRPC on port 4317, Zipkin v2 JSON on port 9411 and
// statsd messages on UDP port 8125. In: spans and messages. Out: GET /spans and GET /metrics on port 8090, as JSON.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// maxItems limits the kept spans and messages, maxBody the size of a request in bytes.
const (
	maxItems = 20000
	maxBody  = 4 << 20
)

// span is a span of any protocol.
type span struct {
	Trace, ID, Parent, Name, Kind, Service string
}

// collector keeps what it received.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	mu      sync.Mutex
	spans   []span
	metrics []string
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	c := &collector{}
	otlp, err := net.Listen("tcp", ":4317")
	if err != nil {
		return err
	}
	statsd, err := net.ListenPacket("udp", ":8125")
	if err != nil {
		return err
	}
	failed := make(chan error)
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	go func() { failed <- server.Serve(otlp) }()
	go func() { failed <- c.readStatsd(statsd) }()
	zipkin := http.NewServeMux()
	zipkin.HandleFunc("POST /api/v2/spans", c.addZipkin)
	queries := http.NewServeMux()
	queries.HandleFunc("GET /spans", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = json.NewEncoder(w).Encode(c.spans)
	})
	queries.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = json.NewEncoder(w).Encode(c.metrics)
	})
	for address, handler := range map[string]http.Handler{":9411": zipkin, ":8090": queries} {
		server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		go func() { failed <- server.ListenAndServe() }()
	}
	return <-failed
}

func (c *collector) add(all ...span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.spans) < maxItems {
		c.spans = append(c.spans, all...)
	}
}

// Export receives OTLP.
func (c *collector) Export(_ context.Context, r *collectorv1.ExportTraceServiceRequest) (
	*collectorv1.ExportTraceServiceResponse, error) {
	for _, resource := range r.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.add(span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(), Service: service,
					Kind: strings.TrimPrefix(tracev1.Span_SpanKind_name[int32(s.GetKind())], "SPAN_KIND_"),
				})
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// addZipkin receives a list of spans of Zipkin v2.
func (c *collector) addZipkin(w http.ResponseWriter, r *http.Request) {
	var all []struct {
		TraceID, ID, ParentID, Name, Kind string
		LocalEndpoint                     struct{ ServiceName string }
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&all); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, s := range all {
		c.add(span{s.TraceID, s.ID, s.ParentID, s.Name, s.Kind, s.LocalEndpoint.ServiceName})
	}
	w.WriteHeader(http.StatusAccepted)
}

// readStatsd receives messages until the socket is closed.
func (c *collector) readStatsd(socket net.PacketConn) error {
	buffer := make([]byte, 64<<10)
	for {
		n, _, err := socket.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		c.mu.Lock()
		for line := range strings.SplitSeq(strings.TrimSpace(string(buffer[:n])), "\n") {
			if len(c.metrics) < maxItems {
				c.metrics = append(c.metrics, line)
			}
		}
		c.mu.Unlock()
	}
}
