package h2

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"anymesh.dev/anymesh/internal/proxy/http1"
)

// frames returns frames as a peer sends them.
func frames(write func(f *http2.Framer, head func(fields ...string) []byte)) []byte {
	var out, block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	f := http2.NewFramer(&out, nil)
	f.AllowIllegalWrites = true
	write(f, func(fields ...string) []byte {
		block.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		return bytes.Clone(block.Bytes())
	})
	return out.Bytes()
}

// FuzzServer sends any frames to a server. The text of each stream is one request, or none.
func FuzzServer(f *testing.F) {
	get := []string{":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/"}
	f.Add(frames(func(f *http2.Framer, head func(fields ...string) []byte) {
		_ = f.WriteSettings()
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head(get...), EndStream: true, EndHeaders: true})
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: head(get...), EndHeaders: true})
		_ = f.WriteData(3, false, []byte("body"))
		_ = f.WriteWindowUpdate(3, 100)
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: head("x", "y"), EndStream: true, EndHeaders: true})
	}))
	f.Add(frames(func(f *http2.Framer, head func(fields ...string) []byte) {
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		socket := head(":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":authority", "a", ":path", "/",
			"sec-websocket-version", "13")
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: socket, EndHeaders: true})
		_ = f.WriteData(1, true, []byte("x"))
		_ = f.WriteRSTStream(1, http2.ErrCodeCancel)
		_ = f.WritePing(false, [8]byte{})
	}))
	f.Fuzz(func(t *testing.T, in []byte) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		go func() {
			_, _ = there.Write(append([]byte(Preface), in...))
			_ = there.Close()
		}()
		s := Server{Limits: DefaultLimits}
		s.Serve(here, nil, func(one *Stream) {
			defer one.Close()
			text, _ := io.ReadAll(io.LimitReader(one, 1<<20))
			var r http1.Request
			size, err := r.Parse(text, 0, textLimits)
			if err == nil && size > 0 && !r.Chunked && r.Length < 0 && len(r.Upgrade) == 0 && len(text) != size {
				t.Errorf("the text has more than a request: %q", text)
			}
			_, _ = io.WriteString(one, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n")
		})
	})
}

// FuzzClient sends any frames to a client. Each request has a response or an error.
func FuzzClient(f *testing.F) {
	f.Add(frames(func(f *http2.Framer, head func(fields ...string) []byte) {
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head(":status", "103"), EndHeaders: true})
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head(":status", "200", "a", "b"), EndHeaders: true})
		_ = f.WriteData(1, false, []byte("body"))
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head("x", "y"), EndStream: true, EndHeaders: true})
		_ = f.WriteGoAway(1, http2.ErrCodeNo, nil)
	}))
	f.Add(frames(func(f *http2.Framer, _ func(fields ...string) []byte) {
		_ = f.WriteSettings()
		_ = f.WriteData(1, true, nil) // without a head
	}))
	f.Fuzz(func(t *testing.T, in []byte) {
		here, there := net.Pipe()
		go func() {
			_, _ = there.Write(in)
			_ = there.Close()
		}()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		var p Pool
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s, _, err := p.Get(ctx, false, func(context.Context) (net.Conn, error) { return here, nil })
		if err != nil {
			return
		}
		defer s.Close()
		_, _ = io.WriteString(s, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		text, err := io.ReadAll(io.LimitReader(s, 1<<20))
		if err == nil && !bytes.HasPrefix(text, []byte("HTTP/1.1 ")) {
			t.Errorf("a complete response has the text %q", text)
		}
	})
}
