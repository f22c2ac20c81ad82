package xds

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// hostileClient sends what it likes on connections with one certificate, and reads only window updates.
type hostileClient struct {
	testing.TB
	server *process
	config *tls.Config
	conns  []net.Conn
}

func newHostileClient(t testing.TB, p *process) *hostileClient {
	return newHostileClientNamed(t, p, "hostile")
}

func newHostileClientNamed(t testing.TB, p *process, name string) *hostileClient {
	c := &hostileClient{TB: t, server: p, config: &tls.Config{
		Certificates: []tls.Certificate{p.ca.leaf(t, name, time.Hour)}, RootCAs: p.ca.pool(),
		ServerName: "anymesh", NextProtos: []string{"h2"},
	}}
	t.Cleanup(c.close)
	return c
}

func (c *hostileClient) close() {
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// dial opens a TCP connection.
func (c *hostileClient) dial() net.Conn {
	conn, err := net.Dial("tcp", c.server.addr)
	if err != nil {
		c.Fatal(err)
	}
	c.conns = append(c.conns, conn)
	return conn
}

// hostileConn is an HTTP/2 connection. Errors are ignored: the server may close it at any time.
type hostileConn struct {
	*http2.Framer
	encoder *hpack.Encoder
	headers bytes.Buffer
	ended   chan struct{} // the server has closed the connection
}

// connect opens an HTTP/2 connection. The send windows of the server are empty if it has to block.
func (c *hostileClient) connect(block bool) *hostileConn {
	conn := tls.Client(c.dial(), c.config)
	h := &hostileConn{Framer: http2.NewFramer(conn, nil), ended: make(chan struct{})}
	h.encoder = hpack.NewEncoder(&h.headers)
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(conn, http2.ClientPreface)
	if block {
		_ = h.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	} else {
		_ = h.WriteSettings()
	}
	go func() {
		defer close(h.ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	return h
}

// open opens an ADS stream.
func (h *hostileConn) open(id uint32) {
	h.headers.Reset()
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "https"},
		{Name: ":path", Value: "/" + adsService + "/DeltaAggregatedResources"}, {Name: "content-type", Value: "application/grpc"}} {
		_ = h.encoder.WriteField(f)
	}
	_ = h.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: h.headers.Bytes(), EndHeaders: true})
}

// send sends a message, of which the last bytes are missing. The server opens its windows as it reads.
func (h *hostileConn) send(id uint32, message []byte, missing int) {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)+missing))
	for b = append(b, message...); len(b) > 0; {
		n := min(len(b), 16<<10)
		if h.WriteData(id, false, b[:n]) != nil {
			return
		}
		b = b[n:]
	}
}
