package observe

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"anymesh.dev/anymesh/test/freeport"
)

// Clients of a gateway share the HTTP/2 connections between sidecars. The tests send what ends a connection of a strict
// HTTP/2 peer, while other requests wait for their responses on the same connection.

// TestUpgradesShareConnections upgrades to WebSocket through a client's sidecar and a node's, both with HTTP/2, to an
// application that supports extended CONNECT (RFC 8441), and to one that does not.
func TestUpgradesShareConnections(t *testing.T) {
	for version, binary := range binaries(t) {
		for _, supported := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/supported=%v", version, supported), func(t *testing.T) {
				t.Parallel()
				app := startH2Application(t, supported)
				client, _ := startSidecars(t, binary, app.port())
				others := app.holdRequests(t, "http://"+client, 20)
				for range 4 {
					upgrade(t, client, supported)
				}
				app.release()
				for range 20 {
					if got := <-others; got != "200" {
						t.Errorf("a request on the connection of an upgrade: got %s", got)
					}
				}
			})
		}
	}
}

// TestInvalidStreamsShareConnections sends invalid requests on the connection of valid ones: only their streams end.
func TestInvalidStreamsShareConnections(t *testing.T) {
	large := make([]string, 0, 160)
	for i := range 80 {
		large = append(large, fmt.Sprintf("x-large-%d", i), strings.Repeat("a", 1<<10))
	}
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			app := startH2Application(t, false)
			_, node := startSidecars(t, binary, app.port())
			var clients []*h2Client
			for _, invalid := range [][]string{
				{":method", "CONNECT", ":path", "/", ":scheme", "http", ":authority", "h.demo", ":protocol", "unknown"},
				{":method", "GET", ":path", "/", ":scheme", "http", ":authority", "h.demo", ":unknown", "x"},
				{":method", "GET", ":path", "/", ":scheme", "http", ":authority", "h.demo", "connection", "close"},
				{":method", "GET", ":path", "/", ":scheme", "http", ":authority", "h.demo", "x-value", "a\nb"},
				{":method", "GET", ":path", "/", ":scheme", "http", ":authority", "h.demo", "content-length", "x"},
				{":method", "GET", ":scheme", "http", ":authority", "h.demo"},
				{":path", "/", ":scheme", "http"},
				append([]string{":method", "GET", ":path", "/", ":scheme", "http", ":authority", "h.demo"}, large...),
			} {
				c := dialH2(t, node)
				clients = append(clients, c)
				c.request(t, ":method", "GET", ":path", "/hold", ":scheme", "http", ":authority", "h.demo")
				app.waitFor(t, 1)
				stream := c.request(t, invalid...)
				if got := c.result(stream); got == "200" || got == "closed" {
					t.Errorf("headers %.120q: got %s, want an error of the stream", invalid, got)
				}
			}
			app.release()
			for i, c := range clients {
				if got := c.result(1); got != "200" {
					t.Errorf("the request beside invalid request %d: got %s, want 200", i, got)
				}
			}
		})
	}
}

// upgrade sends a WebSocket handshake in HTTP/1.1 and, if the application accepts it, a message that comes back.
func upgrade(t *testing.T, address string, supported bool) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(responseTimeout))
	_, _ = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: h.demo\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	switch {
	case err != nil:
		t.Errorf("the upgrade has no response: %v", err)
	case !supported && response.StatusCode < 400:
		t.Errorf("the upgrade has status %d, although the application does not support it", response.StatusCode)
	case supported && response.StatusCode != http.StatusSwitchingProtocols:
		t.Errorf("the upgrade has status %d, want 101", response.StatusCode)
	case supported:
		_, _ = io.WriteString(conn, "message")
		message := make([]byte, len("message"))
		if _, err := io.ReadFull(reader, message); err != nil || string(message) != "message" {
			t.Errorf("the message comes back as %q, %v", message, err)
		}
	}
}

// startSidecars starts an Envoy with the connection managers and clusters of two sidecars in the case http2: the client
// front, and the node reader with the application on a port. It returns the addresses of both.
func startSidecars(t *testing.T, binary string, application uint16) (front, reader string) {
	t.Helper()
	const (
		outbound = "cds_egress_m_reader_demo_http2_8080"
		inbound  = "cds_ingress_m_reader_demo_http2_8080"
	)
	ports := []uint16{uint16(freeport.Port(t)), uint16(freeport.Port(t))}
	egress := renderedResource[*listenerv3.Listener](t, "appmesh/http2", "front_demo", "lds_egress_0.0.0.0_15001")
	ingress := renderedResource[*listenerv3.Listener](t, "appmesh/http2", "reader_demo", "lds_ingress_0.0.0.0_15000")
	front, reader = fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	startStatic(t, binary, fmt.Sprintf(`{"static_resources": {"clusters": [%s, %s], "listeners": [%s, %s]}}`,
		staticCluster(t, renderedResource[*clusterv3.Cluster](t, "appmesh/http2", "front_demo", outbound), ports[1]),
		staticCluster(t, renderedResource[*clusterv3.Cluster](t, "appmesh/http2", "reader_demo", inbound), application),
		staticListener(t, egress, outbound, ports[0]), staticListener(t, ingress, inbound, ports[1])), front)
	return front, reader
}
