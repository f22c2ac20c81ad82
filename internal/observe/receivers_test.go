package observe

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"anymesh.dev/anymesh/sidecar"
)

// otlpReceiver passes the names of services and spans to a channel.
type otlpReceiver struct {
	collectorv1.UnimplementedTraceServiceServer
	received chan<- string
}

// Export implements the OTLP service.
func (r otlpReceiver) Export(_ context.Context, in *collectorv1.ExportTraceServiceRequest) (
	*collectorv1.ExportTraceServiceResponse, error) {
	r.received <- in.String()
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// receive starts a receiver of a protocol and returns its port.
func receive(t *testing.T, protocol sidecar.TracingProtocol, received chan<- string) uint16 {
	t.Helper()
	if protocol == sidecar.TracingXRay {
		socket, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = socket.Close() })
		go func() {
			buffer := make([]byte, 64<<10)
			for {
				n, _, err := socket.ReadFrom(buffer)
				if err != nil {
					return
				}
				received <- string(buffer[:n])
			}
		}()
		return uint16(socket.LocalAddr().(*net.UDPAddr).Port)
	}
	if protocol == sidecar.TracingOpenTelemetry {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		collectorv1.RegisterTraceServiceServer(server, otlpReceiver{received: received})
		go func() { _ = server.Serve(l) }()
		t.Cleanup(server.Stop)
		return uint16(l.Addr().(*net.TCPAddr).Port)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			return
		}
		received <- r.URL.Path + " " + body.String()
	}))
	t.Cleanup(server.Close)
	return uint16(server.Listener.Addr().(*net.TCPAddr).Port)
}
