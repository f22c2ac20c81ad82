package h2

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"anymesh.dev/anymesh/internal/h2frame"
)

// onRequest handles HEADERS of a client: a new stream, or trailers.
func (c *conn) onRequest(f *http2.MetaHeadersFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[f.StreamID]; s != nil {
		return s.onTrailers(f)
	}
	malformed := http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
	if f.StreamID%2 == 0 {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if !c.idle(f.StreamID) {
		return c.onLateHeaders(f)
	}
	if h2frame.DependsOnItself(f) {
		return malformed
	}
	if c.leaving {
		c.last = f.StreamID
		c.ended.Set(f.StreamID, h2frame.EndedHere)
		return nil // RFC 9113, 6.8: the client knows by the GOAWAY that the stream is not handled
	}
	r, err := h2frame.ReadRequest(f)
	if err == nil && !f.Truncated && !valid(&r) {
		err = malformed
	}
	if err != nil && !f.Truncated {
		return err
	}
	c.last = f.StreamID
	if len(c.streams) >= c.limits.Streams || c.running >= 2*c.limits.Streams {
		// A stream that was reset runs until its user notices.
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeRefusedStream}
	}
	s := newStream(c)
	s.id, s.send, s.method, s.scheme = f.StreamID, c.initial, r.Method, r.Scheme
	if f.Truncated {
		r.Fields = nil
		s.text("GET / HTTP/1.1\r\nhost: x\r\nx: ", strings.Repeat("x", c.limits.Head), "\r\n\r\n") // too long here, too
	} else {
		s.requestText(&r, f.StreamEnded())
	}
	c.streams[s.id] = s
	c.running++
	if f.StreamEnded() {
		if s.framing = noBody; r.ContentLength > 0 {
			c.running--
			delete(c.streams, s.id)
			return malformed
		}
		s.remoteEnd = true
	}
	go c.serve(s)
	return nil
}

// valid checks what the text of a request cannot express in another way.
func valid(r *h2frame.Request) bool {
	for _, part := range []string{r.Method, r.Path, r.Authority} {
		if strings.ContainsAny(part, " \t") {
			return false
		}
	}
	hosts := 0
	for _, f := range r.Fields {
		if v := f.Value; v != "" && (v[0] == ' ' || v[0] == '\t' || v[len(v)-1] == ' ' || v[len(v)-1] == '\t') {
			return false // RFC 9113, 8.2.1
		}
		if f.Name == "host" {
			if hosts++; hosts > 1 || r.Authority != "" && f.Value != r.Authority {
				return false
			}
		}
	}
	return r.Protocol == "" || r.Method == http.MethodConnect
}

// requestText makes the head the text.
func (s *Stream) requestText(r *h2frame.Request, ended bool) {
	method, target := r.Method, r.Path
	switch {
	case r.Protocol == "websocket":
		method, s.tunnel = "GET", true
	case r.Method == http.MethodConnect:
		target = r.Authority
	}
	if target == "" {
		target = "/" // the parser refuses the method
	}
	s.text(method, " ", target, " HTTP/1.1\r\n")
	if r.Authority != "" {
		s.text("host: ", r.Authority, "\r\n")
	}
	var cookies []string
	trailers := announced(r.Fields)
	for _, f := range r.Fields {
		switch {
		case trailers && f.Name == "content-length":
		case f.Name == "cookie":
			cookies = append(cookies, f.Value)
		case f.Name == "host" && r.Authority != "", s.tunnel && f.Name == "sec-websocket-key":
		default:
			s.text(f.Name, ": ", f.Value, "\r\n")
		}
	}
	if len(cookies) > 0 { // RFC 9113, 8.2.3
		s.text("cookie: ", strings.Join(cookies, "; "), "\r\n")
	}
	switch {
	case s.tunnel:
		var key [16]byte
		_, _ = rand.Read(key[:]) // it never fails
		s.text("connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: ",
			base64.StdEncoding.EncodeToString(key[:]), "\r\n")
		s.framing = raw
	case ended:
	default:
		s.frame(r.ContentLength, r.Fields)
	}
	s.text("\r\n")
}

// frame chooses how the text of a body ends. Only chunks have trailers.
func (s *Stream) frame(length int64, fields []hpack.HeaderField) {
	if s.left = length; length >= 0 && !announced(fields) {
		s.framing = sized
		return
	}
	s.framing = chunked
	s.text("transfer-encoding: chunked\r\n")
}

// announced reports whether a message announces trailers.
func announced(fields []hpack.HeaderField) bool {
	return slices.ContainsFunc(fields, func(f hpack.HeaderField) bool { return f.Name == "trailer" })
}

// onLateHeaders handles HEADERS of a stream that has ended, or whose number is lower than that of a later stream.
func (c *conn) onLateHeaders(f *http2.MetaHeadersFrame) error {
	switch c.ended.Of(f.StreamID) {
	case h2frame.EndedHere: // trailers, sent before the client received the end
		if f.StreamEnded() {
			c.ended.Set(f.StreamID, h2frame.EndedByPeer)
		}
		return nil
	case h2frame.EndedByPeer:
		return http2.ConnectionError(http2.ErrCodeStreamClosed)
	case h2frame.ResetByPeer:
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeStreamClosed}
	}
	return http2.ConnectionError(http2.ErrCodeProtocol) // RFC 9113, 5.1.1
}

// onTrailers handles HEADERS that end a stream. It requires the lock.
func (s *Stream) onTrailers(f *http2.MetaHeadersFrame) error {
	malformed := http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol}
	switch {
	case s.remoteEnd:
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeStreamClosed}
	case !f.StreamEnded() || len(f.PseudoFields()) > 0 || f.Truncated || s.framing == raw:
		return malformed
	}
	if _, ok := h2frame.CheckFields(f.Fields); !ok {
		return malformed
	}
	return s.end(trailerLines(f.Fields))
}

func trailerLines(fields []hpack.HeaderField) string {
	var out strings.Builder
	for _, f := range fields {
		out.WriteString(f.Name + ": " + f.Value + "\r\n")
	}
	return out.String()
}

// appendChunk appends a chunk; nothing if it has no data.
func appendChunk(to, data []byte) []byte {
	if len(data) == 0 {
		return to
	}
	to = strconv.AppendInt(to, int64(len(data)), 16)
	to = append(append(to, "\r\n"...), data...)
	return append(to, "\r\n"...)
}
