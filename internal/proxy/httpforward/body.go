package httpforward

import (
	"errors"
	"io"
	"net"
	"strconv"

	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// startBody sends the head, and starts a goroutine that sends the body while the response is read.
func (c *conn) startBody(a *attempt, u *upstream, head int) error {
	if c.request.Expect && c.r == c.w {
		if _, err := io.WriteString(c.client, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return errClient
		}
	}
	if _, err := u.Write(c.out[:head]); err != nil {
		return err
	}
	body := make(chan error, 1)
	a.body = body
	c.sending.Go(func() {
		err := c.sendBody(u)
		if refused := (*badBody)(nil); errors.Is(err, errClient) || errors.As(err, &refused) {
			_ = u.Close() // the endpoint must not take a part for the whole
		}
		body <- err
	})
	return nil
}

// badBody is the error of a body of the client that is refused.
type badBody struct{ error }

// sendBody sends the body of the request to the endpoint.
func (c *conn) sendBody(u *upstream) error {
	if c.request.Chunked {
		return c.sendChunks(u)
	}
	left := c.request.Length
	for {
		if n := min(left, int64(c.w-c.r)); n > 0 {
			if err := c.attempt.send(u, (*c.in)[c.r:c.r+int(n)]); err != nil {
				return err
			}
			c.r += int(n)
			left -= n
		}
		if left == 0 {
			return c.attempt.unsent
		}
		c.limit(c.stall)
		if left >= spliceSize && c.attempt.unsent == nil && c.tcp != nil && u.tcp != nil {
			c.attempt.lost = true
			n, err := moveTCP(u.tcp, c.tcp, min(left, spliceStep))
			if left -= n; err != nil {
				return err
			}
			if n == 0 {
				return errClient
			}
			continue
		}
		if err := c.readMore(); err != nil {
			return errClient
		}
	}
}

// Bodies with at least spliceSize bytes are moved in the kernel, spliceStep bytes a call.
const (
	spliceSize = 64 << 10
	spliceStep = 4 << 20
)

// moveTCP moves at most n bytes.
func moveTCP(to, from *net.TCPConn, n int64) (int64, error) {
	return to.ReadFrom(&io.LimitedReader{R: from, N: n})
}

// sendChunks sends the chunks of the request: checked, and encoded again.
func (c *conn) sendChunks(u *upstream) error {
	var chunks http1.Chunks
	var out []byte
	for {
		out = out[:0]
		for c.r < c.w && !chunks.Done() {
			data, used, err := chunks.Next((*c.in)[c.r:c.w])
			if err != nil {
				return &badBody{err}
			}
			if c.r += used; used == 0 {
				break
			}
			out = appendChunk(out, data)
		}
		if chunks.Done() {
			out = appendEnd(out, &chunks)
		}
		if len(out) > 0 {
			if err := c.attempt.send(u, out); err != nil {
				return err
			}
		}
		if chunks.Done() {
			return c.attempt.unsent
		}
		c.limit(c.stall)
		if err := c.readMore(); err != nil {
			return errClient
		}
	}
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

// appendEnd appends the last chunk with the trailers.
func appendEnd(to []byte, chunks *http1.Chunks) []byte {
	return append(append(append(to, "0\r\n"...), chunks.Trailer...), "\r\n"...)
}

// sendResponse sends the response to the client. The input of the endpoint is after the head.
func (c *conn) sendResponse(in *reader) error {
	in.closed = in.closed || c.response.Close
	c.info.sent.Store(max(0, c.response.Length))
	if value, has := c.response.Get("grpc-status"); has {
		c.span.GRPC(text(value))
	}
	f := c.framingFor()
	c.writeResponse(f)
	c.started = true
	var err error
	switch f {
	case noBody:
		c.attempt.end()
		_, err = c.client.Write(c.reply)
	case sized:
		err = c.sendSized(in)
	default:
		err = c.sendStream(in, f == chunked)
	}
	if err == nil {
		c.status = c.response.Status
	}
	return err
}

func (c *conn) sendSized(in *reader) error {
	left := c.response.Length
	for {
		data := in.unread()
		data = data[:min(int64(len(data)), left)]
		if len(c.reply) > 0 {
			if len(data) <= maxOutput {
				c.reply = append(c.reply, data...)
				in.r, left = in.r+len(data), left-int64(len(data))
				data = nil
			}
			if left == int64(len(data)) {
				c.attempt.end()
			}
			if _, err := c.client.Write(c.reply); err != nil {
				return errClient
			}
			c.reply = c.reply[:0]
		}
		if len(data) > 0 {
			if left == int64(len(data)) {
				c.attempt.end()
			}
			if _, err := c.client.Write(data); err != nil {
				return errClient
			}
			in.r, left = in.r+len(data), left-int64(len(data))
		}
		if left == 0 {
			return nil
		}
		c.limit(c.stall)
		if left >= spliceSize && c.tcp != nil && in.tcp != nil && len(in.unread()) == 0 {
			n, err := moveTCP(c.tcp, in.tcp, min(left, spliceStep))
			if left -= n; err != nil || n == 0 {
				return errors.New("the response was not complete")
			}
			continue
		}
		if err := in.fill(); err != nil {
			return err
		}
	}
}

// sendStream sends a body that has chunks, or that ends with the connection of the endpoint.
func (c *conn) sendStream(in *reader, encode bool) error {
	var chunks http1.Chunks
	ended := false
	for {
		for in.r < in.w && !chunks.Done() {
			data, used := in.unread(), len(in.unread())
			if c.response.Chunked {
				var err error
				if data, used, err = chunks.Next(data); err != nil {
					return err
				}
			}
			if in.r += used; used == 0 {
				break
			}
			c.info.sent.Add(int64(len(data)))
			if encode {
				c.reply = appendChunk(c.reply, data)
			} else {
				c.reply = append(c.reply, data...)
			}
		}
		if ended = ended || chunks.Done(); ended {
			c.attempt.end()
		}
		if ended && encode {
			c.reply = appendEnd(c.reply, &chunks)
			c.noteTrailer(chunks.Trailer)
		}
		if len(c.reply) > 0 {
			if _, err := c.client.Write(c.reply); err != nil {
				return errClient
			}
			c.reply = c.reply[:0]
		}
		if ended {
			in.closed = in.closed || !c.response.Chunked
			return nil
		}
		c.limit(c.stall)
		if err := in.fill(); errors.Is(err, io.EOF) && !c.response.Chunked {
			ended = true
		} else if err != nil {
			return err
		}
	}
}

// tunnel connects the client and the endpoint after a response with the status 101.
func (c *conn) tunnel(in *reader) error {
	in.closed, c.request.Close = true, true
	if !c.wantsTunnel() {
		return errors.New("the endpoint switches to a protocol that the client did not ask for")
	}
	c.writeInterim()
	c.reply = append(c.reply[:len(c.reply)-2], "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"...)
	c.reply = append(c.reply, in.unread()...)
	in.r = in.w
	c.started, c.status = true, 101
	if _, err := c.client.Write(c.reply); err != nil {
		return errClient
	}
	if c.r < c.w {
		if _, err := in.Write((*c.in)[c.r:c.w]); err != nil {
			return err
		}
		c.r = c.w
	}
	c.limit(0)
	client, endpoint := plainStream(c.client, c.tcp), plainStream(in.Conn, in.tcp)
	stream.Join(client, endpoint)
	return nil
}

// plainStream returns the stream of a connection; that of the TCP connection if it is one.
func plainStream(nc net.Conn, tcp *net.TCPConn) stream.Stream {
	if tcp != nil {
		return stream.Conn{Conn: tcp}
	}
	return stream.Conn{Conn: nc}
}
