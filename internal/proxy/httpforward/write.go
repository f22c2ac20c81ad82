package httpforward

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// maxOutput is the size up to which a body is sent together with its head, and of the buffers that are kept.
const maxOutput = 32 << 10

func appendField(to, name, value []byte) []byte {
	to = append(append(to, name...), ": "...)
	return append(append(to, value...), "\r\n"...)
}

// writeRequest writes the head for the endpoint. What routing saw is what is forwarded.
func (c *conn) writeRequest(meta *metadata.Tree) error {
	if cap(c.out) > 2*maxOutput {
		c.out = nil
	}
	r := &c.request
	if meta != nil {
		if err := c.writeRewritten(meta); err != nil {
			return err
		}
	} else {
		c.out = append(append(c.out[:0], r.Method...), ' ')
		c.out = append(append(c.out, r.Target...), " HTTP/1.1\r\n"...)
		if r.Host == nil {
			c.out = append(c.out, "Host: \r\n"...)
		}
		for i := range r.Fields {
			if f := &r.Fields[i]; !f.Hop && !c.span.Replaces(text(f.Name)) {
				c.out = appendField(c.out, f.Name, f.Value)
			}
		}
	}
	c.out = c.span.AppendFields(c.out)
	if r.Chunked {
		c.out = append(c.out, "Transfer-Encoding: chunked\r\n"...)
	}
	if c.wantsTunnel() {
		c.out = append(c.out, "Connection: Upgrade\r\nUpgrade: websocket\r\n"...)
	}
	c.out = append(c.out, "\r\n"...)
	return nil
}

// wantsTunnel reports whether the request asks for the WebSocket protocol. Other upgrades are not forwarded.
func (c *conn) wantsTunnel() bool {
	r := &c.request
	return len(r.Upgrade) > 0 && strings.EqualFold(text(r.Upgrade), "websocket") && string(r.Method) == "GET" &&
		!r.Chunked && r.Length <= 0
}

// writeRewritten writes the head with method, path and fields of the metadata. Fields keep their order; new ones
// follow.
func (c *conn) writeRewritten(meta *metadata.Tree) error {
	method := meta.Lookup(metadata.Path{"HTTP", "method"}).Text
	path := meta.Lookup(metadata.Path{"HTTP", "url", "path"}).Text
	c.out = fmt.Appendf(c.out[:0], "%s %s HTTP/1.1\r\n", method, path)
	fields, is := meta.Lookup(metadata.Path{"HTTP", "headers"}).Any.(map[string]any)
	if !is {
		return fmt.Errorf("the rewritten /HTTP/headers is no object")
	}
	fields = maps.Clone(fields)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return c.span.Replaces(name) })
	for i := range c.request.Fields {
		f := &c.request.Fields[i]
		name := strings.ToLower(text(f.Name))
		value, has := fields[name]
		delete(fields, name)
		if f.Hop || !has {
			continue
		}
		if err := c.writeValue(string(f.Name), value); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := c.writeValue(name, fields[name]); err != nil {
			return err
		}
	}
	// The result has the same checks as what clients send, and the same framing.
	var check http1.Request
	head := append(slices.Clone(c.out), "\r\n"...)
	if size, err := check.Parse(head, 0, http1.Limits{Head: 1 << 20, Fields: 1000}); err != nil {
		return fmt.Errorf("the rewritten request is invalid: %w", err)
	} else if size != len(head) || check.Length != c.request.Length || check.Chunked || check.Close {
		return fmt.Errorf("the rewritten request has another size of its body")
	}
	return nil
}

func (c *conn) writeValue(name string, value any) error {
	v := metadata.Of(value)
	switch v.Kind {
	case metadata.String, metadata.Number, metadata.Bool:
		c.out = append(v.Append(append(append(c.out, name...), ": "...)), "\r\n"...)
		return nil
	case metadata.Null:
		return nil // a rewrite to null removes the field
	}
	return fmt.Errorf("the rewritten field %s is no string", name)
}

// framing is how the body of a response ends for the client.
type framing uint8

const (
	noBody framing = iota
	sized
	chunked
	untilClose
)

// framingFor returns how the body of the current response ends.
func (c *conn) framingFor() framing {
	switch r := &c.response; {
	case !r.HasBody(c.request.Method):
		return noBody
	case r.Length >= 0 && !r.Chunked:
		return sized
	case c.request.Minor == 0:
		return untilClose
	}
	return chunked
}

// writeResponse writes the head of the response.
func (c *conn) writeResponse(f framing) {
	r := &c.response
	c.statusLine(r.Status, text(r.Reason))
	for i := range r.Fields {
		if f := &r.Fields[i]; !f.Hop && (r.Status != 204 || !http1.Is(f.Name, "content-length")) {
			c.reply = appendField(c.reply, f.Name, f.Value)
		}
	}
	if f == chunked {
		c.reply = append(c.reply, "Transfer-Encoding: chunked\r\n"...)
	}
	if f == untilClose {
		c.request.Close = true
	}
	c.endHead()
}

// writeInterim writes the head of an interim response.
func (c *conn) writeInterim() {
	c.statusLine(c.response.Status, text(c.response.Reason))
	for i := range c.response.Fields {
		if f := &c.response.Fields[i]; !f.Hop {
			c.reply = appendField(c.reply, f.Name, f.Value)
		}
	}
	c.reply = append(c.reply, "\r\n"...)
}

func (c *conn) statusLine(status int, reason string) {
	if cap(c.reply) > 2*maxOutput {
		c.reply = nil
	}
	c.reply = strconv.AppendInt(append(c.reply[:0], "HTTP/1.1 "...), int64(status), 10)
	c.reply = append(append(append(c.reply, ' '), reason...), "\r\n"...)
}

// endHead writes the fields of the connection and the end of the head.
func (c *conn) endHead() {
	if c.s.draining.Load() {
		c.request.Close = true
	}
	switch {
	case c.request.Close || c.unread:
		c.reply = append(c.reply, "Connection: close\r\n"...)
	case c.request.Minor == 0:
		c.reply = append(c.reply, "Connection: keep-alive\r\n"...)
	}
	c.reply = append(c.reply, "\r\n"...)
}

// fail answers a request that was not forwarded. It returns false if the connection must end.
func (c *conn) fail(status int, content string) bool {
	if c.request.Chunked || c.request.Length > 0 {
		c.unread = true
	}
	return c.respond(status, content)
}

// respond sends a response of the proxy.
func (c *conn) respond(status int, content string) bool {
	if c.stream && isGRPC(&c.request) {
		return c.respondGRPC(status, content)
	}
	body := ErrorBody(status, content)
	c.status, c.started = status, true
	c.statusLine(status, http.StatusText(status))
	c.ownFields()
	c.reply = fmt.Appendf(c.reply, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	c.endHead()
	if string(c.request.Method) != "HEAD" {
		c.reply = append(c.reply, body...)
	}
	_, err := c.client.Write(c.reply)
	return err == nil
}

// limited answers a request that exceeds the rate of its route.
func (c *conn) limited(rate *config.RequestRate) bool {
	for _, h := range rate.Headers {
		c.fields = append(append(append(append(c.fields, h.Name...), ": "...), h.Value...), "\r\n"...)
	}
	return c.failed(flagRate, rate.Status, "the route has no more requests at this time")
}

// redirect answers with the URL of another place.
func (c *conn) redirect(to *config.Redirect) bool {
	if c.request.Chunked || c.request.Length > 0 {
		c.unread = true
	}
	target := c.request.Target
	if target[0] != '/' {
		target = []byte("/") // OPTIONS *
	}
	c.status, c.started = to.Status, true
	c.statusLine(to.Status, http.StatusText(to.Status))
	c.reply = fmt.Appendf(c.reply, "Location: %s://%s%s\r\nContent-Length: 0\r\n", to.Scheme, to.Host, target)
	c.endHead()
	_, err := c.client.Write(c.reply)
	return err == nil
}

// ownFields writes the fields that the configuration adds to the proxy's own response.
func (c *conn) ownFields() {
	c.reply = append(c.reply, c.fields...)
	c.fields = c.fields[:0]
}

// ErrorBody returns the body of the proxy's own responses.
func ErrorBody(status int, content any) []byte {
	body, err := json.MarshalIndent(struct {
		Status  int    `json:"status"`
		Message string `json:"message"`
		Content any    `json:"content"`
	}{status, http.StatusText(status), content}, "", "    ")
	if err != nil {
		return []byte(err.Error()) // values of JSON can be encoded
	}
	return body
}
