package httpforward

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/object"
)

// Exchange is a request and its response as a stream: reads return the body of the request, writes are the body of the
// response.
type Exchange struct {
	c      *conn
	left   int64 // of the body of the request
	chunks http1.Chunks
	data   []byte // of the current chunk

	mu    sync.Mutex // guards the response
	ended bool
	kind  framing
	head  string // more fields of the response
}

// handOver serves the request as a session.
func (c *conn) handOver(route *object.Route, to *object.Slot[cluster.Cluster], meta *metadata.Tree) bool {
	x := &Exchange{c: c, left: max(0, c.request.Length), kind: chunked}
	if c.request.Minor == 0 {
		x.kind = untilClose
	}
	if c.request.Expect && c.r == c.w {
		if _, err := io.WriteString(c.client, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return false
		}
	}
	c.limit(0) // the session has limits of its own
	c.shared = true
	c.info.forget()
	c.s.Handler.Serve(x, route, to, meta)
	x.mu.Lock()
	defer x.mu.Unlock()
	c.unread = c.unread || x.hasBody()
	if !c.started {
		return c.fail(502, "the session ended without a response")
	}
	_ = c.client.SetReadDeadline(time.Time{}) // it fails if the connection is closed
	return x.ended
}

func (x *Exchange) hasBody() bool {
	if x.c.request.Chunked {
		return !x.chunks.Done()
	}
	return x.left > 0
}

// Request returns the method, path and fields of the request. They are valid until the end of the session.
func (x *Exchange) Request() *http1.Request { return &x.c.request }

// Read implements stream.Stream.
func (x *Exchange) Read(p []byte) (int, error) {
	c := x.c
	for {
		if len(x.data) > 0 {
			n := copy(p, x.data)
			x.data = x.data[n:]
			return n, nil
		}
		if !x.hasBody() {
			return 0, io.EOF
		}
		if c.r == c.w {
			if c.in == nil {
				c.in = buffers.Get().(*[]byte)
			}
			c.r, c.w = 0, 0
			if err := c.readMore(); err != nil {
				return 0, err
			}
		}
		if !c.request.Chunked {
			n := copy(p, (*c.in)[c.r:c.w][:min(int64(c.w-c.r), x.left)])
			c.r, x.left = c.r+n, x.left-int64(n)
			return n, nil
		}
		data, used, err := x.chunks.Next((*c.in)[c.r:c.w])
		if err != nil {
			return 0, err
		}
		if c.r += used; used == 0 {
			if err := c.readMore(); err != nil {
				return 0, err
			}
		}
		x.data = data
	}
}

// Write implements stream.Stream. The first write sends the head with the status 200.
func (x *Exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.begin(200); err != nil {
		return 0, err
	}
	if x.ended {
		return 0, io.ErrClosedPipe
	}
	c := x.c
	switch {
	case string(c.request.Method) == "HEAD":
		return len(p), nil
	case x.kind == chunked:
		c.reply = appendChunk(c.reply, p)
	default:
		c.reply = append(c.reply, p...)
	}
	_, err := c.client.Write(c.reply)
	c.reply = c.reply[:0]
	return len(p), err
}

// begin writes the head of the response.
func (x *Exchange) begin(status int) error {
	c := x.c
	if c.started {
		return nil
	}
	c.started, c.status = true, status
	c.statusLine(status, http.StatusText(status))
	c.reply = append(c.reply, x.head...)
	if x.kind == chunked && string(c.request.Method) != "HEAD" {
		c.reply = append(c.reply, "Transfer-Encoding: chunked\r\n"...)
	}
	if x.kind == untilClose {
		c.request.Close = true
	}
	c.endHead()
	return nil
}

// CloseWrite implements stream.Stream: it ends the response.
func (x *Exchange) CloseWrite() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return nil
	}
	if err := x.begin(200); err != nil {
		return err
	}
	x.ended = true
	c := x.c
	if x.kind == chunked && string(c.request.Method) != "HEAD" {
		c.reply = append(c.reply, "0\r\n\r\n"...)
	}
	_, err := c.client.Write(c.reply)
	c.reply = c.reply[:0]
	return err
}

// Fail answers with an error, if the response has not begun.
func (x *Exchange) Fail(status int, content string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.c.started && !x.ended {
		x.ended = x.c.fail(status, content)
	}
}

// errStarted is the error of a response after the first one.
var errStarted = errors.New("the response has begun")

// Respond answers with a status, more fields, each of which ends with CR LF, and a body.
func (x *Exchange) Respond(status int, fields string, body []byte) error {
	x.mu.Lock()
	started := x.c.started
	x.head = fields
	err := x.begin(status)
	x.mu.Unlock()
	if started {
		return errStarted
	}
	if err != nil {
		return err
	}
	if len(body) > 0 {
		if _, err := x.Write(body); err != nil {
			return err
		}
	}
	return x.CloseWrite()
}

// Close implements stream.Stream: it interrupts reads. Without a complete response, the connection ends.
func (x *Exchange) Close() error {
	return x.c.client.SetReadDeadline(time.Unix(1, 0))
}

// Messages implements stream.Stream.
func (x *Exchange) Messages() bool { return false }

// RemoteAddr returns the address of the client.
func (x *Exchange) RemoteAddr() net.Addr { return x.c.client.RemoteAddr() }

// LocalAddr returns the address that the client connected to.
func (x *Exchange) LocalAddr() net.Addr { return x.c.client.LocalAddr() }
