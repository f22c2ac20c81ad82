package httpforward

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/rawconn"
	"anymesh.dev/anymesh/internal/proxy/tracing"
)

// bufferSize is the size of the buffers that idle connections do not keep.
const bufferSize = 16 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}

// conn is the connection of a client.
type conn struct {
	s      *Server
	client net.Conn
	raw    *rawconn.Conn // the client; nil if it is no plain socket
	tcp    *net.TCPConn  // the client; nil if it has another protocol
	base   map[string]any
	stream bool          // the client is a stream of HTTP/2
	shared bool          // a session may still refer to the connection
	mirror *object.Route // of a copy of a request, which has no client

	in   *[]byte // input; nil while there is none
	r, w int     // the unread part of the input
	// out is the head of the request to the endpoint, with a small body after it; reply is that of the response.
	out, reply []byte
	fields     []byte // more fields of the proxy's own response
	attempt    attempt
	info       info
	span       *tracing.Span  // of the request; nil without one
	counted    *Stats         // of the route; nil without labels
	sending    sync.WaitGroup // the goroutine that sends a body uses the input

	origin   string // the address of the client, behind trusted proxies
	head     []byte // of the request, before its body is read
	request  http1.Request
	response http1.Response
	status   int // of the response; 0 before it is known
	started  bool
	unread   bool // the body of the request was not read to its end

	stall    time.Duration // the limit of the time without progress
	until    atomic.Int64  // when the phase must end, in seconds of the server's clock; 0: never
	busy     atomic.Bool
	over     atomic.Bool // interrupt was called
	stalled  atomic.Bool // the idle timeout of the request has ended its connection to the endpoint
	upstream atomic.Pointer[upstream]
}

func (c *conn) limit(d time.Duration) {
	if d == 0 {
		c.until.Store(0)
		return
	}
	c.until.Store(c.s.clock.Load() + int64(d/time.Second) + 1)
}

// interrupt ends the connection; the goroutine that serves it sees errors.
func (c *conn) interrupt() {
	c.over.Store(true)
	_ = c.client.Close() // twice is harmless
	if u := c.upstream.Load(); u != nil {
		_ = u.Close() // twice is harmless
	}
}

// expire ends a request in which nothing has moved. The client gets a response if it has none and an endpoint was
// asked; otherwise the connection ends.
func (c *conn) expire() {
	u := c.upstream.Load()
	if u == nil || c.stalled.Swap(true) {
		c.interrupt()
		return
	}
	c.limit(answerTime)
	_ = u.Close() // twice is harmless
}

// answerTime is how long the response after an idle timeout may take.
const answerTime = 5 * time.Second

func (c *conn) releaseInput() {
	if c.in != nil {
		if len(*c.in) == bufferSize {
			buffers.Put(c.in)
		}
		c.in, c.r, c.w = nil, 0, 0
	}
}

// serve serves requests until the connection ends. It returns what was read if the client begins with HTTP/2.
func (c *conn) serve() (first []byte) {
	for begun := false; ; begun = true {
		if err := c.readHead(); err != nil {
			if c.s.HTTP2 && !begun && !c.stream && c.in != nil && h2.Begins((*c.in)[c.r:c.w]) {
				return bytes.Clone((*c.in)[c.r:c.w])
			}
			var refused *http1.Error
			if errors.As(err, &refused) {
				c.s.Stats.Requests.Add(1)
				c.unread, c.status, c.started = true, 0, false
				c.respond(refused.Status, refused.Text)
				c.s.Stats.done(refused.Status, 0)
			}
			return nil
		}
		c.busy.Store(true)
		begun := time.Now()
		c.info.begin(c.head, begun)
		if c.mirror == nil {
			c.addForwarded()
			c.s.Stats.Requests.Add(1)
		}
		c.status, c.started, c.unread = 0, false, false
		c.stalled.Store(false)
		c.counted = nil
		c.stall = c.s.Timeouts.Stall
		c.limit(c.stall)
		c.startSpan()
		keep := c.handle()
		now := time.Now()
		if c.mirror != nil {
			return nil
		}
		c.s.Stats.done(c.status, now.Sub(begun))
		if c.counted != nil {
			c.counted.done(c.status, now.Sub(begun))
			c.counted.Retries.Add(uint64(c.info.retries.Load()))
		}
		c.endSpan()
		if ended := c.s.Ended(); ended != nil {
			if r := c.describe(now); r != nil {
				c.ended(r)
				ended(r)
			}
		}
		c.info.forget()
		c.busy.Store(false)
		if !keep || c.request.Close || c.unread || c.s.draining.Load() {
			return nil
		}
	}
}

// readHead reads the head of the next request.
func (c *conn) readHead() error {
	if c.r == c.w {
		c.releaseInput()
		c.limit(c.s.Timeouts.Idle)
		if err := c.readFirst(); err != nil {
			return err
		}
	}
	c.limit(c.s.Timeouts.Head)
	for seen := 0; ; {
		c.request.Canonical = c.s.Canonical
		size, err := c.request.Parse((*c.in)[c.r:c.w], seen, c.s.Limits)
		if err != nil {
			return err
		}
		if size > 0 {
			c.head = (*c.in)[c.r : c.r+size]
			c.r += size
			return nil
		}
		seen = c.w - c.r
		if err := c.readMore(); err != nil {
			return err
		}
	}
}

func (c *conn) readFirst() (err error) {
	if c.raw != nil {
		c.in, c.w, err = c.raw.ReadPooled(&buffers)
		return err
	}
	c.in = buffers.Get().(*[]byte)
	c.w, err = c.client.Read(*c.in)
	return err
}

// readMore reads more input of the same message. The input moves to the start of the buffer, or to a larger one.
func (c *conn) readMore() error {
	switch {
	case c.r > 0:
		c.w = copy(*c.in, (*c.in)[c.r:c.w])
		c.r = 0
	case c.w == len(*c.in):
		larger := make([]byte, 2*len(*c.in))
		c.w = copy(larger, *c.in)
		if len(*c.in) == bufferSize {
			buffers.Put(c.in)
		}
		c.in = &larger
	}
	n, err := c.client.Read((*c.in)[c.w:])
	c.w += n
	return err
}

// handle serves a request. It returns false if the connection must end.
func (c *conn) handle() bool {
	if c.mirror != nil {
		slot := c.mirror.Choose()
		dest := slot.Get()
		return dest != nil && c.forward(c.mirror, slot, dest, nil)
	}
	route, meta, slot, err := c.lookup()
	elsewhere := (*object.RedirectError)(nil)
	switch {
	case errors.As(err, &elsewhere):
		return c.redirect(elsewhere.To)
	case errors.Is(err, object.ErrDenied):
		return c.fail(403, err.Error())
	case errors.Is(err, object.ErrRewrite):
		return c.fail(500, err.Error())
	case err != nil:
		return c.failed(flagNoRoute, 404, err.Error())
	}
	if route.Metrics != nil {
		c.counted = c.s.RouteStats(*route.Metrics)
	}
	if !route.Admits() {
		return c.limited(route.Rate)
	}
	if idle := route.Timeouts.Idle; idle != nil {
		c.stall = time.Duration(*idle) * time.Millisecond
		c.limit(c.stall)
	}
	dest := slot.Get()
	if dest == nil || dest.Spec.Protocol != "HTTP" || len(route.Ingress)+len(route.Egress) > 0 {
		if meta == nil {
			tree := c.Tree()
			meta = &tree
		}
		return c.handOver(route, slot, meta)
	}
	return c.forward(route, slot, dest, meta)
}

// lookup returns the route of the request, its metadata if rules rewrite them, and a cluster of the route. If the
// cluster does not exist, the route may have been replaced together with it.
func (c *conn) lookup() (*object.Route, *metadata.Tree, *object.Slot[cluster.Cluster], error) {
	route, meta, err := object.Lookup(c.s.Rules, c)
	if err != nil {
		return nil, nil, nil, err
	}
	slot := route.Choose()
	if slot.Get() == nil {
		if again, rewritten, err := object.Lookup(c.s.Rules, c); err == nil && again != route {
			return again, rewritten, again.Choose(), nil
		}
	}
	return route, meta, slot, nil
}
