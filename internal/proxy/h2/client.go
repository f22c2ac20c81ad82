package h2

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"anymesh.dev/anymesh/internal/h2frame"
)

// responseLimit limits heads of endpoints, in bytes.
const responseLimit = 256 << 10

// newClient begins a connection to an endpoint.
func newClient(nc net.Conn, l Limits, p *Pool) *conn {
	l.Head = responseLimit
	c := newConn(nc, true, l)
	c.closed = func() { p.remove(c) }
	c.start(nil)
	c.mu.Lock()
	c.out = append(c.out, http2.ClientPreface...)
	c.out = h2frame.AppendSettings(c.out, http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: responseLimit})
	c.out = h2frame.AppendWindowUpdate(c.out, 0, clientWindow-h2frame.InitialWindow)
	c.mu.Unlock()
	c.observe()
	go c.read()
	return c
}

// take returns a new stream; nil if the connection has no room for it.
func (c *conn) take() *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.leaving || c.running >= c.most || c.last >= 1<<30 {
		return nil
	}
	c.running++
	return newStream(c)
}

// awaitSettings waits for the first settings of the endpoint.
func (c *conn) awaitSettings(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	for !c.settings {
		if err := errors.Join(c.err, ctx.Err()); err != nil {
			return err
		}
		c.changed.Wait()
	}
	return nil
}

// sendRequest sends the head of a request.
func (s *Stream) sendRequest(text []byte) (int, error) {
	c := s.c
	r := &c.request
	size, err := r.Parse(text, 0, textLimits)
	if size == 0 || err != nil {
		return 0, err
	}
	if c.leaving || c.err != nil {
		return 0, ErrNotProcessed
	}
	s.method = string(r.Method)
	s.tunnel = strings.EqualFold(string(r.Upgrade), "websocket")
	if s.tunnel {
		if !c.connects {
			return 0, errors.New("HTTP/2: the endpoint does not support WebSocket (SETTINGS_ENABLE_CONNECT_PROTOCOL)")
		}
		key, _ := r.Get("sec-websocket-key")
		s.accept = acceptKey(string(key))
		c.field(":method", "CONNECT")
		c.field(":protocol", "websocket")
	} else {
		c.field(":method", s.method)
	}
	scheme := "http"
	if c.secure {
		scheme = "https"
	}
	c.field(":scheme", scheme)
	c.field(":authority", string(r.Host))
	c.field(":path", string(r.Target))
	grpc := false
	for i := range r.Fields {
		f := &r.Fields[i]
		name := c.name(f.Name)
		if f.Hop || name == "host" || s.tunnel && name == "sec-websocket-key" {
			continue
		}
		grpc = grpc || name == "content-type" && strings.HasPrefix(string(f.Value), "application/grpc")
		c.field(name, string(f.Value))
	}
	if grpc {
		c.field("te", "trailers")
	}
	c.last += 2
	if c.last == 2 {
		c.last = 1
	}
	s.id, s.send, s.headSent = c.last, c.initial, true
	c.streams[s.id] = s
	switch {
	case s.tunnel:
		s.sending = raw
	case r.Chunked:
		s.sending = chunked
		s.chunks.Reset()
	case r.Length > 0:
		s.sending, s.unsent = sized, r.Length
	default:
		s.sending = noBody
	}
	c.headers(s.id, s.sending == noBody)
	s.ended(s.sending == noBody)
	return size, nil
}

// acceptKey returns what the server of a WebSocket answers: RFC 6455, 4.2.2.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// onResponse handles HEADERS of an endpoint: a response, an interim one, or trailers.
func (c *conn) onResponse(f *http2.MetaHeadersFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[f.StreamID]
	switch {
	case c.idle(f.StreamID):
		return http2.ConnectionError(http2.ErrCodeProtocol)
	case s == nil:
		return nil // of a stream that was reset
	case s.answered:
		return s.onTrailers(f)
	}
	malformed := http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
	status, err := strconv.Atoi(f.PseudoValue("status"))
	length, ok := h2frame.CheckFields(f.RegularFields())
	if err != nil || !ok || f.Truncated || status < 100 || status > 599 || status == 101 || len(f.PseudoFields()) != 1 {
		return malformed
	}
	if status < 200 {
		if f.StreamEnded() {
			return malformed
		}
		s.responseText(status, f.RegularFields())
		s.text("\r\n")
		s.changed.Broadcast()
		return nil
	}
	return s.onFinal(f, status, length)
}

// onFinal handles the head of a response. It requires the lock.
func (s *Stream) onFinal(f *http2.MetaHeadersFrame, status int, length int64) error {
	s.answered = true
	if s.tunnel && status == 200 {
		s.responseText(101, f.RegularFields())
		s.text("connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ", s.accept, "\r\n\r\n")
		s.framing = raw
		if f.StreamEnded() {
			return s.end("")
		}
		s.changed.Broadcast()
		return nil
	}
	s.responseText(status, f.RegularFields())
	switch hasBody := status != 204 && status != 304 && s.method != http.MethodHead; {
	case !hasBody:
	case f.StreamEnded():
		if length > 0 {
			return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol}
		}
		if length < 0 {
			s.text("content-length: 0\r\n")
		}
	default:
		s.frame(length, f.RegularFields())
	}
	s.text("\r\n")
	if f.StreamEnded() {
		s.framing = noBody
		return s.end("")
	}
	s.changed.Broadcast()
	return nil
}

// responseText makes the head the text, without its end.
func (s *Stream) responseText(status int, fields []hpack.HeaderField) {
	s.text(fmt.Sprintf("HTTP/1.1 %d %s\r\n", status, http.StatusText(status)))
	trailers := announced(fields)
	for _, f := range fields {
		if trailers && f.Name == "content-length" {
			continue
		}
		s.text(f.Name, ": ", f.Value, "\r\n")
	}
}
