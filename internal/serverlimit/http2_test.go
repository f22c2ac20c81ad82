package serverlimit

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"anymesh.dev/anymesh/test/poll"
)

// client writes frames of HTTP/2.
type client struct {
	*lab
	conn   net.Conn
	framer *http2.Framer
	block  bytes.Buffer
	hpack  *hpack.Encoder
}

func newClient(t *testing.T, name string) *client { return connect(newLab(t, name, "h2")) }

func connect(l *lab, settings ...http2.Setting) *client {
	c := &client{lab: l}
	c.conn = c.dial()
	send(c.conn, http2.ClientPreface)
	c.framer = http2.NewFramer(c.conn, c.conn)
	c.framer.WriteSettings(settings...)
	c.hpack = hpack.NewEncoder(&c.block)
	return c
}

// open sends the header of a request in frames of a length.
func (c *client) open(stream uint32, path, value string, frame int, end bool) {
	c.block.Reset()
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "https"}, {":authority", "x"}, {":path", path}, {"x", value},
	} {
		if err := c.hpack.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			c.t.Fatal(err)
		}
	}
	first := c.block.Next(frame)
	c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: first, EndStream: end, EndHeaders: c.block.Len() == 0,
	})
	for c.block.Len() > 0 {
		next := c.block.Next(frame)
		c.framer.WriteContinuation(stream, c.block.Len() == 0, next)
	}
}

// answered waits for the end of a stream, or the GOAWAY of the server.
func (c *client) answered(stream uint32) {
	c.t.Helper()
	for {
		f, err := c.framer.ReadFrame()
		if err != nil {
			c.t.Fatalf("%s: %v", c.name, err)
		}
		h := f.Header()
		ends := h.Type == http2.FrameData && h.Flags.Has(http2.FlagDataEndStream) || h.Type == http2.FrameRSTStream
		if h.StreamID == stream && ends || h.Type == http2.FrameGoAway {
			return
		}
	}
}

func (c *client) hasServed(n int) {
	c.t.Helper()
	poll.Until(c.t, "the handler begins", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.served == n
	})
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxHeader+1000)
	for _, test := range []struct {
		name string
		run  func(c *client)
	}{
		{"long, status 431", func(c *client) {
			c.open(1, "/", long, MaxReadFrameSize, true)
			c.answered(1)
			c.conn.Close()
		}},
		{"long later, status 431", func(c *client) {
			c.open(1, "/", "", MaxReadFrameSize, true)
			c.answered(1)
			c.open(3, "/", long, MaxReadFrameSize, true)
			c.answered(3)
			c.conn.Close()
		}},
		{"long, the connection is closed", func(c *client) { c.open(1, "/", strings.Repeat(long, 4), MaxReadFrameSize, true) }},
		{"long, beside another stream, the connection is closed", func(c *client) {
			c.open(1, "/wait", "", MaxReadFrameSize, true)
			c.hasServed(1)
			c.open(3, "/", strings.Repeat(long, 4), MaxReadFrameSize, true)
			poll.Until(c.t, "GOAWAY", func() bool { f, err := c.framer.ReadFrame(); return err == nil && f.Header().Type == http2.FrameGoAway })
			close(c.release)
		}},
	} {
		c := newClient(t, test.name)
		test.run(c)
		defer c.wants(map[Reason]int{Long: 1}) // all connections wait for their timeouts together
	}
}

func TestHTTP2Otherwise(t *testing.T) {
	t.Parallel()
	within := strings.Repeat("a", maxHeader-1000)
	for _, test := range []struct {
		name string
		run  func(c *client)
	}{
		{"closed by the client", func(c *client) { c.conn.Close() }},
		{"idle", func(*client) {}},
		{"idle after a response", func(c *client) { c.open(1, "/", "", MaxReadFrameSize, true); c.answered(1) }},
		{"long, within the limit", func(c *client) {
			for stream := uint32(1); stream < 9; stream += 2 {
				c.open(stream, "/", within+string(rune('a'+stream)), MaxReadFrameSize, true)
				c.answered(stream)
			}
		}},
		{"closed in a long header", func(c *client) {
			c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(within)[:16000]})
			c.framer.WriteContinuation(1, false, []byte(within)[:4000])
			c.conn.Close()
		}},
		{"malformed", func(c *client) { c.open(1, "", "", MaxReadFrameSize, true); c.answered(1); c.conn.Close() }},
		{"flow control error", func(c *client) { c.framer.WriteWindowUpdate(0, 1<<31-1) }},
		{"canceled", func(c *client) {
			c.open(1, "/wait", "", MaxReadFrameSize, true)
			c.framer.WriteRSTStream(1, http2.ErrCodeCancel)
			c.conn.Close()
			close(c.release)
		}},
		{"closed in a body", func(c *client) {
			c.open(1, "/wait", "", MaxReadFrameSize, false)
			c.hasServed(1)
			for range 3 {
				c.framer.WriteData(1, false, []byte(within)[:16000])
			}
			c.conn.Close()
			close(c.release)
		}},
		{"body after the response", func(c *client) {
			c.open(1, "/", "", MaxReadFrameSize, false)
			c.hasServed(1)
			c.answered(1)
			for range 3 {
				c.framer.WriteData(1, false, []byte(within)[:16000])
			}
			c.conn.Close()
		}},
		{"shutdown", func(c *client) {
			c.open(1, "/wait", "", MaxReadFrameSize, false)
			c.hasServed(1)
			for range 3 {
				c.framer.WriteData(1, false, []byte(within)[:16000])
			}
			c.shutdown()
			close(c.release)
		}},
	} {
		c := newClient(t, test.name)
		test.run(c)
		go io.Copy(io.Discard, c.conn)
		defer c.wants(nil)
	}
}

// A stream beyond the limit is reset, and counted.
func TestStreams(t *testing.T) {
	t.Parallel()
	c := newClient(t, "streams")
	for i := range uint32(MaxConcurrentStreams) {
		c.open(2*i+1, "/wait", "", MaxReadFrameSize, true)
	}
	c.hasServed(MaxConcurrentStreams)
	c.open(2*MaxConcurrentStreams+1, "/", "", MaxReadFrameSize, true)
	c.answered(2*MaxConcurrentStreams + 1)
	close(c.release)
	c.conn.Close()
	c.wants(map[Reason]int{Streams: 1})
}

// The server does not wait for the payload of a frame that is too long.
func TestFrameSize(t *testing.T) {
	t.Parallel()
	c := newClient(t, "frame size")
	const length = MaxReadFrameSize + 1
	send(c.conn, string([]byte{length >> 16, length >> 8 & 0xff, length & 0xff, 0, 0, 0, 0, 0, 1}))
	for {
		f, err := c.framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if f, is := f.(*http2.GoAwayFrame); is {
			if f.ErrCode != http2.ErrCodeFrameSize {
				t.Errorf("GOAWAY with %v", f.ErrCode)
			}
			break
		}
	}
	c.wants(map[Reason]int{Frame: 1})
}

// A malformed frame is counted like one that is too long.
func TestMalformedFrame(t *testing.T) {
	t.Parallel()
	c := newClient(t, "PING with a stream")
	c.framer.WriteRawFrame(http2.FramePing, 0, 1, make([]byte, 8))
	go io.Copy(io.Discard, c.conn)
	c.wants(map[Reason]int{Frame: 1})
}

// Bytes that arrive together with the preface belong to the first stream.
func TestPreface(t *testing.T) {
	c := &conn{bytes: maxHeader}
	if c.endHTTP2(maxHeader) {
		t.Error("the preface is counted")
	}
	if !c.endHTTP2(maxHeader) {
		t.Error("the first stream is not counted")
	}
}
