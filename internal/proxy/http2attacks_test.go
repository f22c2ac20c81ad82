package proxy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawHTTP2 is a client that sends frames.
type rawHTTP2 struct {
	net.Conn
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func dialHTTP2(t testing.TB, address string) *rawHTTP2 {
	t.Helper()
	c := &rawHTTP2{Conn: dial(t, "tcp", address)}
	c.Framer = http2.NewFramer(c.Conn, c.Conn)
	c.encoder = hpack.NewEncoder(&c.block)
	_, _ = io.WriteString(c.Conn, http2.ClientPreface)
	_ = c.WriteSettings()
	return c
}

// open sends the head of a GET request, and more fields.
func (c *rawHTTP2) open(id uint32, path string, fields ...string) error {
	c.block.Reset()
	for _, f := range append([]string{":method: GET", ":scheme: http", ":authority: a", ":path: " + path}, fields...) {
		i := strings.Index(f[1:], ": ") + 1
		_ = c.encoder.WriteField(hpack.HeaderField{Name: f[:i], Value: f[i+2:]})
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndStream: true, EndHeaders: true})
}

// goAway reads frames until the connection ends, and returns the last GOAWAY.
func (c *rawHTTP2) goAway() (code http2.ErrCode, has bool) {
	for {
		f, err := c.ReadFrame()
		if err != nil {
			return code, has
		}
		if g, is := f.(*http2.GoAwayFrame); is {
			code, has = g.ErrCode, true
		}
	}
}

const anyConfig = `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules: [{action: {route: {destination: {spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]
`

// What costs a client less than the proxy ends its connection: streams that are reset at once, PING and SETTINGS
// without end, empty frames.
func TestHTTP2Floods(t *testing.T) {
	var requests atomic.Int64
	up := httpServer(t, func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		<-r.Context().Done()
	})
	at := start(t, fmt.Sprintf(anyConfig, up), "IN")
	for name, send := range map[string]func(c *rawHTTP2, i int) error{
		"rapid reset": func(c *rawHTTP2, i int) error {
			return errors.Join(c.open(uint32(2*i+1), "/"), c.WriteRSTStream(uint32(2*i+1), http2.ErrCodeCancel))
		},
		"PING":     func(c *rawHTTP2, _ int) error { return c.WritePing(false, [8]byte{}) },
		"SETTINGS": func(c *rawHTTP2, _ int) error { return c.WriteSettings() },
		"PRIORITY": func(c *rawHTTP2, i int) error { return c.WritePriority(uint32(2*i+1), http2.PriorityParam{}) },
	} {
		t.Run(name, func(t *testing.T) {
			requests.Store(0)
			c := dialHTTP2(t, at["IN"])
			go func() {
				for i := 0; send(c, i) == nil; i++ {
				}
			}()
			if code, has := c.goAway(); has && code != http2.ErrCodeEnhanceYourCalm {
				t.Errorf("got GOAWAY %v", code)
			}
			if n := requests.Load(); n > 2000 {
				t.Errorf("the endpoint got %d requests", n)
			}
		})
	}
}

// A client has 250 streams at a time; further ones are refused before an endpoint sees them, and the others go on.
func TestHTTP2Streams(t *testing.T) {
	var requests atomic.Int64
	release := make(chan struct{})
	up := httpServer(t, func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		<-release
	})
	c := dialHTTP2(t, start(t, fmt.Sprintf(anyConfig, up), "IN")["IN"])
	const most, opened = 250, 300
	for i := range opened {
		if err := c.open(uint32(2*i+1), "/"); err != nil {
			t.Fatal(err)
		}
	}
	answered, refused := 0, 0
	for answered+refused < opened {
		f, err := c.ReadFrame()
		if err != nil {
			t.Fatalf("after %d answers and %d refused streams: %v", answered, refused, err)
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			answered++
		case *http2.RSTStreamFrame:
			if f.ErrCode != http2.ErrCodeRefusedStream {
				t.Errorf("stream %d: reset with %v", f.StreamID, f.ErrCode)
			}
			if refused++; refused == opened-most {
				close(release)
			}
		}
	}
	if answered != most || requests.Load() != most {
		t.Errorf("%d streams have answers, %d are refused, the endpoint got %d requests", answered, refused, requests.Load())
	}
}

// A head that is too long gets the status 431; CONTINUATION without end closes the connection.
func TestHTTP2LongHeads(t *testing.T) {
	at := start(t, fmt.Sprintf(anyConfig, httpServer(t, func(http.ResponseWriter, *http.Request) {})), "IN")
	long := dialHTTP2(t, at["IN"])
	for _, f := range [][2]string{
		{":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}, {"x", strings.Repeat("~", 70<<10)},
	} {
		_ = long.encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = long.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: long.block.Next(16 << 10), EndStream: true})
	for long.block.Len() > 0 {
		part := long.block.Next(16 << 10)
		_ = long.WriteContinuation(1, long.block.Len() == 0, part)
	}
	long.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := long.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if h, is := f.(*http2.MetaHeadersFrame); is {
			if status := h.PseudoValue("status"); status != "431" {
				t.Errorf("got status %s", status)
			}
			break
		}
	}
	c := dialHTTP2(t, at["IN"])
	go func() {
		_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1})
		for c.WriteContinuation(1, false, bytes.Repeat([]byte{0x82}, 10_000)) == nil {
		}
	}()
	if code, has := c.goAway(); has && code != http2.ErrCodeProtocol {
		t.Errorf("got GOAWAY %v", code)
	}
}

// A connection that does not begin with the preface is refused, when it has agreed to HTTP/2 or has begun with its
// first line.
func TestInvalidPreface(t *testing.T) {
	at := start(t, fmt.Sprintf(anyConfig, "1"), "IN")
	c := dial(t, "tcp", at["IN"])
	_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nxx\r\n\r\n")
	f := http2.NewFramer(io.Discard, c)
	var last http2.Frame
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			break
		}
		last = frame
	}
	if g, is := last.(*http2.GoAwayFrame); !is || g.ErrCode != http2.ErrCodeProtocol {
		t.Errorf("got %v", last)
	}
}

// What the text of a request cannot say in one way only is refused.
func TestHTTP2MalformedRequests(t *testing.T) {
	var seen atomic.Int64
	at := start(t, fmt.Sprintf(anyConfig, httpServer(t, func(http.ResponseWriter, *http.Request) { seen.Add(1) })), "IN")
	for _, fields := range [][]string{
		{"x: a\r\ny: b"}, {"x: a\nb"}, {"x:  a"}, {"x: a\t"}, {"x\r\ny: a"}, {"X: a"}, {"x y: a"},
		{"host: b"}, {"host: a", "host: a"}, {"transfer-encoding: chunked"}, {"connection: close"}, {"te: gzip"},
		{"content-length: 1"}, {"content-length: +0"}, {"content-length: 0", "content-length: 1"}, {":path: /b"}, {"upgrade: x"},
	} {
		c := dialHTTP2(t, at["IN"])
		if err := c.open(1, "/", fields...); err != nil {
			t.Fatal(err)
		}
		refused := false
		for !refused {
			f, err := c.ReadFrame()
			if err != nil {
				t.Errorf("%q: error %v", fields, err)
				break
			}
			if h, is := f.(*http2.HeadersFrame); is {
				t.Errorf("%q: got a response %q", fields, h.HeaderBlockFragment())
				break
			}
			_, refused = f.(*http2.RSTStreamFrame)
		}
	}
	for _, path := range []string{"/a b", "/ HTTP/1.1", "a", "/a/../b", "/%2e%2e/", "/\x7f"} {
		response := dialHTTP2(t, at["IN"])
		_ = response.open(1, path)
		for {
			f, err := response.ReadFrame()
			if err != nil {
				t.Errorf("%q: error %v", path, err)
				break
			}
			if _, is := f.(*http2.RSTStreamFrame); is {
				break
			}
			if h, is := f.(*http2.HeadersFrame); is {
				all, _ := hpack.NewDecoder(4096, nil).DecodeFull(h.HeaderBlockFragment())
				if len(all) == 0 || all[0].Value != "400" {
					t.Errorf("%q: got %v", path, all)
				}
				break
			}
		}
	}
	if seen.Load() > 0 {
		t.Errorf("the endpoint got %d requests", seen.Load())
	}
}

// WebSockets pass a hop with HTTP/2, as sessions and as upgrades.
func TestWebSocketOverHTTP2(t *testing.T) {
	echo := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		for {
			kind, message, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
	at := start(t, fmt.Sprintf(`
listeners:
- {name: a, spec: {protocol: WebSocket, port: $A, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: WebSocket, port: $B, http2: true}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]}
- {name: b, spec: {protocol: WebSocket, port: $B, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: Echo}}}}}]}
- {name: c, spec: {protocol: HTTP, port: $C, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: HTTP, port: $D, http2: true}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]}
- {name: d, spec: {protocol: HTTP, port: $D, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]}
`, echo), "A", "B", "C", "D")
	for _, name := range []string{"A", "C"} {
		for range 3 {
			c := dialSocket(t, at[name])
			for _, size := range []int{0, 5, 100_000} {
				message := bytes.Repeat([]byte("x"), size)
				_ = c.WriteMessage(websocket.BinaryMessage, message)
				if _, got, err := c.ReadMessage(); err != nil || !bytes.Equal(got, message) {
					t.Fatalf("%s: sent %d bytes, got %d, error %v", name, size, len(got), err)
				}
			}
			_ = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
			if _, _, err := c.ReadMessage(); !websocket.IsCloseError(err, 1000) {
				t.Errorf("%s: the end is %v", name, err)
			}
		}
	}
}
