package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
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

// h2Application is an application with HTTP/2 without TLS. It responds with 200: at once, or to /hold when it is
// released. It sends data of extended CONNECT back if it supports that.
type h2Application struct {
	listener net.Listener
	supports bool
	released chan struct{}
	held     chan struct{}
}

func startH2Application(t *testing.T, supports bool) *h2Application {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	a := &h2Application{listener: l, supports: supports, released: make(chan struct{}), held: make(chan struct{}, 100)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go a.serve(conn)
		}
	}()
	return a
}

func (a *h2Application) port() uint16 { return a.listener.Addr().(*net.TCPAddr).AddrPort().Port() }

func (a *h2Application) release() { close(a.released) }

func (a *h2Application) waitFor(t *testing.T, requests int) {
	t.Helper()
	for range requests {
		select {
		case <-a.held:
		case <-time.After(responseTimeout):
			t.Fatal("the application does not get the requests")
		}
	}
}

// holdRequests sends requests that wait for the release of the application, and returns their results.
func (a *h2Application) holdRequests(t *testing.T, url string, n int) <-chan string {
	t.Helper()
	out := make(chan string, n)
	for range n {
		go func() {
			request, _ := http.NewRequest(http.MethodPost, url+"/hold", nil) // the method is not retried
			request.Host = "h.demo"
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				out <- err.Error()
				return
			}
			_ = response.Body.Close()
			out <- fmt.Sprint(response.StatusCode)
		}()
	}
	a.waitFor(t, n)
	return out
}

func (a *h2Application) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	var mutex sync.Mutex
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	locked := func(write func()) {
		mutex.Lock()
		defer mutex.Unlock()
		write()
	}
	var settings []http2.Setting
	if a.supports {
		settings = append(settings, http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
	}
	locked(func() { _ = framer.WriteSettings(settings...) })
	headers := encodeHeaders(":status", "200")
	connected := map[uint32]bool{}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				locked(func() { _ = framer.WriteSettingsAck() })
			}
		case *http2.DataFrame:
			if data := bytes.Clone(f.Data()); connected[f.StreamID] {
				locked(func() { _ = framer.WriteData(f.StreamID, false, data) })
			}
		case *http2.MetaHeadersFrame:
			stream := f.StreamID
			respond := func(end bool) {
				locked(func() {
					_ = framer.WriteHeaders(http2.HeadersFrameParam{
						StreamID: stream, BlockFragment: headers, EndHeaders: true, EndStream: end,
					})
				})
			}
			switch path := f.PseudoValue("path"); {
			case f.PseudoValue("method") == http.MethodConnect && a.supports:
				connected[stream] = true
				respond(false)
			case f.PseudoValue("method") == http.MethodConnect:
				locked(func() { _ = framer.WriteRSTStream(stream, http2.ErrCodeProtocol) })
			case path == "/hold":
				a.held <- struct{}{}
				go func() {
					<-a.released
					respond(true)
				}()
			default:
				respond(true)
			}
		}
	}
}

// h2Client is a client that sends any headers, also invalid ones.
type h2Client struct {
	framer  *http2.Framer
	last    uint32
	results map[uint32]string
}

func dialH2(t *testing.T, address string) *h2Client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * responseTimeout))
	c := &h2Client{framer: http2.NewFramer(conn, conn), results: map[uint32]string{}}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.framer.AllowIllegalWrites = true
	_, _ = io.WriteString(conn, http2.ClientPreface)
	if err := c.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return c
}

// request sends a request without a body and returns its stream.
func (c *h2Client) request(t *testing.T, headers ...string) uint32 {
	t.Helper()
	c.last += 2
	stream := c.last - 1
	block := encodeHeaders(headers...)
	for first := true; first || len(block) > 0; first = false {
		part := block[:min(len(block), 16<<10)]
		block = block[len(part):]
		var err error
		if first {
			err = c.framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID: stream, BlockFragment: part, EndStream: true, EndHeaders: len(block) == 0,
			})
		} else {
			err = c.framer.WriteContinuation(stream, len(block) == 0, part)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return stream
}

// result waits for the end of a stream: a status, the code of a reset, or the end of the connection. GOAWAY with NO_ERROR
// only asks for another connection for the next requests.
func (c *h2Client) result(stream uint32) string {
	for c.results[stream] == "" {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return "closed"
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			c.results[f.StreamID] = f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			c.results[f.StreamID] = f.ErrCode.String()
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return "closed"
			}
		}
	}
	return c.results[stream]
}

func encodeHeaders(pairs ...string) []byte {
	var out bytes.Buffer
	encoder := hpack.NewEncoder(&out)
	for i := 0; i < len(pairs); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) // a buffer has no errors
	}
	return out.Bytes()
}

// startSidecars starts an Envoy with the connection managers and clusters of two sidecars in the case http2: the client
// front, and the node reader with the application on a port. It returns the addresses of both.
func startSidecars(t *testing.T, binary string, application uint16) (front, reader string) {
	t.Helper()
	const (
		outbound = "cds_egress_m_reader_demo_http2_8080"
		inbound  = "cds_ingress_m_reader_demo_http2_8080"
	)
	ports := freePorts(t, 2)
	egress := renderedResource[*listenerv3.Listener](t, "appmesh/http2", "front_demo", "lds_egress_0.0.0.0_15001")
	ingress := renderedResource[*listenerv3.Listener](t, "appmesh/http2", "reader_demo", "lds_ingress_0.0.0.0_15000")
	front, reader = fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	startStatic(t, binary, fmt.Sprintf(`{"static_resources": {"clusters": [%s, %s], "listeners": [%s, %s]}}`,
		staticCluster(t, renderedResource[*clusterv3.Cluster](t, "appmesh/http2", "front_demo", outbound), ports[1]),
		staticCluster(t, renderedResource[*clusterv3.Cluster](t, "appmesh/http2", "reader_demo", inbound), application),
		staticListener(t, egress, outbound, ports[0]), staticListener(t, ingress, inbound, ports[1])), front)
	return front, reader
}
