package httpforward

import (
	"context"
	"net"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/rawconn"
)

// upstream is a connection to an endpoint.
type upstream struct {
	net.Conn
	raw    *rawconn.Conn // nil if it is no plain socket
	tcp    *net.TCPConn  // nil if it has another protocol
	used   bool          // it served a request before
	served int           // the requests that it served
	once   bool          // for one request: a stream of HTTP/2, or one with the address of a client
	closed bool          // used by the goroutine that serves the client
}

// connect returns an idle connection to the endpoint, or a new one. Fresh asks for a new one. An idle connection for a
// request that must not be sent twice is checked first.
func (c *conn) connect(a *attempt, e *cluster.Endpoint, fresh bool) (*upstream, error) {
	private := a.dest.Spec.ProxyProtocol > 0 // the connection has the address of this client
	for !fresh && !private {
		idle, is := e.Take().(*upstream)
		if !is {
			break
		}
		if a.once && idle.raw != nil && !idle.raw.Alive() {
			_ = idle.Close() // the peer has closed it
			continue
		}
		return idle, nil
	}
	ctx := context.Background()
	if timeout := a.limit.within(a.dest.ConnectTimeout(a.route.Retry.Pause())); timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	dial := func(ctx context.Context) (net.Conn, error) { return c.s.Dialer.Dial(ctx, a.dest, e, a.doc) }
	var nc net.Conn
	var err error
	plain := true
	if a.dest.Spec.HTTP2 {
		nc, plain, err = e.Streams.Get(ctx, c.wantsTunnel(), dial)
	} else {
		nc, err = dial(ctx)
	}
	if err != nil {
		return nil, err
	}
	u := &upstream{Conn: nc, once: !plain || private}
	if raw, is := rawconn.New(nc); is {
		u.raw, u.Conn = raw, raw
	}
	u.tcp, _ = nc.(*net.TCPConn)
	return u, nil
}

// reader is the input of an upstream during one request. It belongs to the connection of the client.
type reader struct {
	*upstream
	buffer *[]byte
	r, w   int
	// received tells that at least one byte came.
	received bool
}

func (in *reader) unread() []byte {
	if in.buffer == nil {
		return nil
	}
	return (*in.buffer)[in.r:in.w]
}

// fill reads more input. What was read is moved to the start; a full buffer grows.
func (in *reader) fill() (err error) {
	switch {
	case in.buffer == nil:
		if in.raw != nil {
			in.buffer, in.w, err = in.raw.ReadPooled(&buffers)
			in.received = in.received || in.w > 0
			return err
		}
		in.buffer = buffers.Get().(*[]byte)
	case in.r == in.w:
		in.r, in.w = 0, 0
	case in.r > 0:
		in.w = copy(*in.buffer, in.unread())
		in.r = 0
	case in.w == len(*in.buffer):
		larger := make([]byte, 2*len(*in.buffer))
		in.w = copy(larger, *in.buffer)
		in.buffer = &larger
	}
	n, err := in.upstream.Read((*in.buffer)[in.w:])
	in.w += n
	in.received = in.received || n > 0
	return err
}

func (in *reader) release() {
	if in.buffer != nil && len(*in.buffer) == bufferSize {
		buffers.Put(in.buffer)
	}
	in.buffer, in.r, in.w = nil, 0, 0
}
